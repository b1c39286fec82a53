package controller_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/playtest"
)

// The third tier of the exploration (docs/reliability.md).
var (
	playgroundSeeds = flag.Uint64("playground-seeds", 2, "how many histories to play on the playground")
	playgroundFirst = flag.Uint64("playground-first", 1, "the first of their seeds")
)

// TestExplorePlayground plays seeded moves on a real API server, under a controller that is killed with kill -9 again and again, and holds
// against the rules every state that the API server went through. A seed decides what is done and behind how many changes, not what else
// happens meanwhile: a failure that it showed may need a few runs to come again.
func TestExplorePlayground(t *testing.T) {
	t.Parallel()
	for seed := *playgroundFirst; seed < *playgroundFirst+*playgroundSeeds; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			explorePlayground(t, seed)
			if t.Failed() {
				t.Errorf("again: SLUICE_BIN=$PWD/bin go test ./internal/controller -run TestExplorePlayground -v -playground-seeds 1 -playground-first %d", seed)
			}
		})
	}
}

// trip is one history on the playground.
type trip struct {
	*rand.Rand
	t         *testing.T
	ns        *playtest.Namespace
	history   *playtest.History
	blueGreen bool
	// fewest and most are the least and the largest size that was ever asked for.
	fewest, most int32
}

func explorePlayground(t *testing.T, seed uint64) {
	t.Helper()
	p := &trip{Rand: rand.New(rand.NewPCG(seed, 0x5107ce)), t: t, ns: playtest.NewEarly(t)}
	p.begin()
	for range 5 + p.IntN(4) {
		p.history.WaitForEvents(1 + p.IntN(12))
		p.move()
		for range p.IntN(3) {
			p.history.KillWhileMoving(p.Rand, 1, 8)
		}
	}
	p.end()
}

// moves are what people do, and how often.
var moves = []struct {
	often int
	name  string
	do    func(*trip)
}{
	{6, "new image", func(p *trip) { p.ns.SetImage("web", fmt.Sprintf("nginx:%d", 1+p.IntN(3))) }},
	{2, "abort", func(p *trip) { p.ns.PatchStatus("web", `{"status":{"abort":true}}`) }},
	{2, "retry", func(p *trip) { p.ns.PatchStatus("web", `{"status":{"abort":false}}`) }},
	{2, "promote", func(p *trip) { p.ns.PatchStatus("web", resume) }},
	{1, "promote full", func(p *trip) { p.ns.PatchStatus("web", `{"status":{"promoteFull":true}}`) }},
	{3, "scale", (*trip).scale},
	{1, "pause", func(p *trip) { p.ns.Patch("web", `{"spec":{"paused":true}}`) }},
	{2, "resume", func(p *trip) { p.ns.Patch("web", `{"spec":{"paused":false}}`) }},
	{1, "delete a Service", func(p *trip) { p.deleteService([]string{"active", "preview"}[p.IntN(2)]) }},
	{2, "restore the Services", (*trip).restoreServices},
}

func (p *trip) begin() {
	p.fewest, p.most = 4, 4
	p.ns.StartController()
	manifest := canary(4, `{maxSurge: 1, maxUnavailable: 1, steps: [{setWeight: 25}, {pause: {duration: 1}}, {setWeight: 60}, {pause: {duration: 2}}]}`)
	if p.blueGreen = p.IntN(2) == 0; p.blueGreen {
		createServices(p.t, p.ns, "active", "preview")
		manifest = blueGreen(4, `{activeService: active, previewService: preview, autoPromotionSeconds: 1, scaleDownDelaySeconds: 2}`)
	}
	p.ns.CreateRollout(manifest)
	p.ns.WaitForRollout("web", "to be Healthy", playtest.Healthy)
	p.history = p.ns.Record()
}

func (p *trip) move() {
	total := 0
	for _, m := range moves {
		total += m.often
	}
	n := p.IntN(total)
	for _, m := range moves {
		if n -= m.often; n < 0 {
			p.t.Logf("%s", m.name)
			m.do(p)
			return
		}
	}
}

func (p *trip) scale() {
	n := int32(2 + p.IntN(4))
	p.fewest, p.most = min(p.fewest, n), max(p.most, n)
	p.ns.Patch("web", fmt.Sprintf(`{"spec":{"replicas":%d}}`, n))
}

func (p *trip) deleteService(name string) {
	if !p.blueGreen || !p.has(name) {
		return
	}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: p.ns.Name, Name: name}}
	if err := p.ns.Client.Delete(p.t.Context(), service); err != nil {
		p.t.Fatal(err)
	}
}

func (p *trip) has(name string) bool {
	return slices.ContainsFunc(p.ns.Services(), func(s corev1.Service) bool { return s.Name == name })
}

func (p *trip) restoreServices() {
	for _, name := range []string{"active", "preview"} {
		if p.blueGreen && !p.has(name) {
			createServices(p.t, p.ns, name)
		}
	}
}

// end repairs everything that is broken, lets the update end, checks that nothing is written afterwards, and reviews the whole trip.
func (p *trip) end() {
	p.restoreServices()
	p.ns.Patch("web", `{"spec":{"paused":false}}`)
	p.ns.PatchStatus("web", `{"status":{"abort":false}}`)
	done := p.ns.WaitForRollout("web", "to be Healthy at last", func(ro *v1alpha1.Rollout) bool {
		return playtest.Healthy(ro) && ro.Status.Replicas == *ro.Spec.Replicas // the delay of an old stack included
	})
	if s := done.Status; s.StableRS != s.CurrentPodHash || s.Abort || len(s.PauseConditions) > 0 {
		p.t.Errorf("left over: stable %s, current %s, abort %t, pauses %v", s.StableRS, s.CurrentPodHash, s.Abort, s.PauseConditions)
	}
	p.ns.RestartsQuietly(p.ns.Versions)
	for _, point := range p.history.Stop() {
		p.check(point)
	}
}

// check holds a state against the rules. Sizes are those that were asked for at any time: who scales down and up again may find fewer pods.
func (p *trip) check(point playtest.Point) {
	if least := p.fewest - 1; point.Available() < least {
		p.t.Errorf("%d pods are available, fewer than %d: %s", point.Available(), least, point)
	}
	if !p.blueGreen {
		if point.Desired() > p.most+1 {
			p.t.Errorf("%d pods are asked for, more than %d: %s", point.Desired(), p.most+1, point)
		}
		return
	}
	hash := point.Selected["active"]
	set, there := point.Sets[hash]
	if hash != "" && (!there || set.Status.AvailableReplicas < min(p.fewest, *set.Spec.Replicas) || *set.Spec.Replicas < p.fewest) {
		p.t.Errorf("the active service sends to %s, which cannot carry it: %s", strings.TrimSpace(hash), point)
	}
}
