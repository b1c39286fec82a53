package controller

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/tools/record"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/plan"
	host "github.com/sluice-delivery/sluice/internal/plugin"
	"github.com/sluice-delivery/sluice/internal/telemetry"
	"github.com/sluice-delivery/sluice/internal/traffic"
	router "github.com/sluice-delivery/sluice/internal/traffic/plugin"
	"github.com/sluice-delivery/sluice/internal/traffic/routers"
)

// A plugin that cannot return the traffic holds up its Rollout for five minutes. Then an event says what is left to do by hand, once, and the note goes.
func TestAPluginThatCannotReturnTheTraffic(t *testing.T) {
	clock := testingclock.NewFakePassiveClock(time.Unix(1000, 0))
	ro := &v1alpha1.Rollout{}
	ro.Namespace, ro.Name, ro.UID = "shop", "web", "1"
	ro.Status.StableRS = "abc"
	ro.Annotations = map[string]string{v1alpha1.PluginRoutesAnnotation: `[{"plugin":"acme/edge","config":"{\"region\":\"eu\"}","max":100,"canary":"c","stable":"s"}]`}
	api, said := &policed{oneObject: oneObject{object: ro}}, record.NewFakeRecorder(10)
	r := NewRolloutReconciler(Deps{
		Clock: clock, Client: api, Live: api, Log: slog.New(slog.DiscardHandler), Events: said, Meters: telemetry.New(prometheus.NewRegistry(), false),
		Plugins: &host.Host{}, Go: func(func()) {},
	})
	owner := traffic.Owner{Namespace: "shop", Name: "web"}
	try := func() error {
		left := r.plugins.left(ro)
		if len(left) != 1 {
			return nil
		}
		if owners := routers.Owners(left[0], r.policy); len(owners) != 1 || owners[0] != rolloutKey || !routers.Names(left[0], map[string]bool{"c": true}) {
			t.Fatalf("the object has the owners %v: %v", owners, left[0].Object)
		}
		return r.plugins.ask(ro, routers.Return(owner, left[0]))
	}
	fails := func() {
		asked := router.Return(router.Notes(ro)["acme/edge"], "abc")
		r.plugins.landed(pluginObject(ro, "acme/edge"), ro.UID, asked, router.Text(asked), errors.New("no such edge"))
	}
	if err := try(); !errors.Is(err, errBehind) {
		t.Fatalf("it is not asked: %v", err)
	}
	fails()
	if err := try(); !strings.Contains(fmt.Sprint(err), `plugin "acme/edge" cannot return the traffic to the stable version: no such edge`) || errors.Is(err, errBehind) {
		t.Errorf("right after it has failed: %v", err)
	}
	clock.SetTime(clock.Now().Add(askedAgainFirst))
	if at := r.plugins.retryAt(rolloutKey, pluginNames(ro, r.policy)); !at.IsZero() || r.plugins.known[rolloutKey] == nil {
		t.Errorf("the Rollout is reconciled again at %s, want when the engine says", at)
	}
	if err := try(); !errors.Is(err, errBehind) {
		t.Errorf("it is not asked again: %v", err)
	}
	fails()
	seen := plan.Observed{Rollout: ro, Now: clock.Now()}
	if err := r.forgetPlugins(t.Context(), seen, plan.Plan{}); err != nil || len(said.Events) != 0 || ro.Annotations[v1alpha1.PluginRoutesAnnotation] == "" {
		t.Errorf("it is forgotten at once: %v, %d events", err, len(said.Events))
	}
	clock.SetTime(clock.Now().Add(longestReturn))
	if err := try(); err != nil {
		t.Errorf("minutes later it still holds up the Rollout: %v", err)
	}
	if err := r.forgetPlugins(t.Context(), seen, plan.Plan{}); err != nil {
		t.Fatal(err)
	}
	const want = `Warning TrafficRoutingError Plugin "acme/edge" has not returned the traffic of this Rollout to the stable version within 5m0s: no such edge. It is not asked again: remove what it has set by hand`
	if len(said.Events) != 1 {
		t.Fatalf("%d events, want one", len(said.Events))
	}
	if got := <-said.Events; got != want {
		t.Errorf("the event is %q", got)
	}
	if len(api.done) != 1 || api.done[0] != "patch web" {
		t.Errorf("the writes are %q, want that the note is removed", api.done)
	}
}
