package controller

import (
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	host "github.com/sluice-delivery/sluice/internal/plugin"
	router "github.com/sluice-delivery/sluice/internal/traffic/plugin"
)

// A weight that a plugin has set and does not confirm yet is asked for again every few seconds, and is no problem before a minute has passed. Another
// weight, such as that of an abort, is asked for at once.
func TestPluginThatIsSlowToConfirm(t *testing.T) {
	clock := testingclock.NewFakePassiveClock(time.Unix(0, 0))
	asked := 0
	p := &pluginRoutes{
		host: &host.Host{}, clock: clock, log: slog.New(slog.DiscardHandler), known: map[types.NamespacedName]map[string]*pluginRoute{}, busy: map[types.NamespacedName]types.UID{}, start: func(func()) { asked++ },
	}
	name := types.NamespacedName{Namespace: "shop", Name: "web/samples/slow"}
	ro := &v1alpha1.Rollout{}
	want := func(when string, calls int, refused bool) {
		t.Helper()
		object := p.object(name, ro.UID)
		if asked != calls || (object != nil) != refused {
			t.Errorf("%s: asked %d times, object %v; want %d times, refused: %t", when, asked, object, calls, refused)
		}
	}
	split := func(weight int) (*unstructured.Unstructured, string) {
		text := fmt.Sprintf(`{"plugin":"samples/slow","max":100,"weight":%d}`, weight)
		return router.Object(name, text, "", ""), text
	}
	ask := func(weight int) {
		object, _ := split(weight)
		if err := p.ask(ro, object); !errors.Is(err, errBehind) {
			t.Fatalf("asked for %d: %v, want that the pass is repeated", weight, err)
		}
	}
	notYet := func(weight int) {
		_, text := split(weight)
		p.landed(name, ro.UID, router.Asked{Plugin: "samples/slow"}, text, fmt.Errorf("says that %w", errSpreading))
	}
	ask(25)
	ask(25)
	want("while it is being asked", 1, false)
	notYet(25)
	ask(25)
	want("right after it said not yet", 1, false)
	clock.SetTime(clock.Now().Add(verifiedAgain))
	ask(25)
	want("seconds later", 2, false)
	notYet(25)
	ask(0)
	want("another weight", 3, false)
	notYet(0)
	clock.SetTime(clock.Now().Add(slowToVerify))
	ask(0)
	notYet(0)
	want("a minute later", 4, true)
}

// Who writes one plugin after another into a Rollout's spec does not fill the controller's memory, and a plugin that is named keeps what is known.
func TestPluginsThatAreNamedNoMoreAreForgotten(t *testing.T) {
	p := &pluginRoutes{
		host: &host.Host{}, clock: testingclock.NewFakePassiveClock(time.Unix(0, 0)), log: slog.New(slog.DiscardHandler),
		known: map[types.NamespacedName]map[string]*pluginRoute{}, busy: map[types.NamespacedName]types.UID{}, start: func(func()) {},
	}
	ro := &v1alpha1.Rollout{}
	ro.Namespace, ro.Name = "shop", "web"
	key := client.ObjectKeyFromObject(ro)
	named := func(i int) []types.NamespacedName {
		return []types.NamespacedName{{Namespace: "shop", Name: fmt.Sprintf("web/samples/p%d", i)}}
	}
	for i := range 100 {
		object := router.Object(named(i)[0], fmt.Sprintf(`{"plugin":"samples/p%d","max":100,"weight":0}`, i), "", "")
		if err := p.ask(ro, object); !errors.Is(err, errBehind) {
			t.Fatal(err)
		}
		p.retryAt(key, named(i))
		if n := len(p.known[key]); n != 1 {
			t.Fatalf("%d plugins are known after %d, want the one that is named", n, i+1)
		}
	}
	if p.forget(key); len(p.known) != 0 {
		t.Errorf("of a Rollout that is gone %v is known", p.known)
	}
}
