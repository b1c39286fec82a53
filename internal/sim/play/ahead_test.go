package play

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluice-delivery/sluice/internal/sim/script"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"

	"github.com/sluice-delivery/sluice/internal/sim"
)

// Stories in the language of the transcripts, with "ahead" commands in between that say how it goes on.
func TestOutlooks(t *testing.T) {
	datadriven.Walk(t, "testdata/ahead", func(t *testing.T, path string) {
		script := script.New()
		script.Hush()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var words []string
			for _, arg := range d.CmdArgs {
				words = append(words, arg.String())
			}
			var out strings.Builder
			for line := range strings.Lines(d.Cmd + " " + strings.Join(words, " ") + "\n" + d.Input) {
				if line = strings.TrimSpace(line); line == "ahead" {
					out.WriteString(outlookOf(t, script.World))
					continue
				}
				if _, err := script.Run(line); err != nil {
					t.Fatal(err)
				}
			}
			return out.String()
		})
	})
}

func outlookOf(t *testing.T, w *sim.World) string {
	t.Helper()
	before := w.Rollout().ResourceVersion
	o, err := Ahead(w.Observe(sim.View{}), 10*time.Second)
	if err != nil {
		return err.Error() + "\n"
	}
	if w.Rollout().ResourceVersion != before {
		t.Error("playing ahead has changed the Rollout")
	}
	var b strings.Builder
	for _, s := range o.Stretches {
		if s.Promoted {
			b.WriteString("after someone promotes\n")
		}
		for _, m := range s.Moments {
			fmt.Fprintf(&b, "%-8s step %d/%d  %.0f %%  %s\n", m.At, m.Step, m.Steps, m.Weight, m.Phase)
			for _, d := range m.Done {
				fmt.Fprintf(&b, "         + %s\n", d)
			}
		}
	}
	fmt.Fprintf(&b, "ends: %q %s\n", o.Result, o.Cut)
	return b.String()
}

// What is played ahead is what then happens, whenever one asks.
func TestAheadIsWhatHappens(t *testing.T) {
	for name, story := range map[string][]string{
		"a canary with timed pauses":  {`rollout web replicas=4 steps="weight 25; pause 1m; weight 50; pause 10m; weight 75; pause 30s"`, "settle", "set image v2"},
		"a canary behind a router":    {`rollout web replicas=4 router=gateway steps="weight 10; pause 1m; weight 60; pause 1m"`, "settle", "set image v2"},
		"a blue-green update":         {`rollout web replicas=3 services="web-active" blueGreen=web-active`, "settle", "set image v2"},
		"a rolling update":            {"rollout web replicas=6", "settle", "set image v2"},
		"an update that is aborted":   {`rollout web replicas=4 steps="weight 25; pause 1m; weight 50; pause 10m"`, "settle", "set image v2", "advance 30s", "abort"},
		"a return in the middle":      {`rollout web replicas=4 steps="weight 25; pause 1m; weight 50; pause 10m"`, "settle", "set image v2", "advance 90s", "set image v1"},
		"another version meanwhile":   {`rollout web replicas=4 steps="weight 25; pause 1m; weight 50; pause 10m"`, "settle", "set image v2", "advance 90s", "set image v3"},
		"a size that changes":         {`rollout web replicas=4 steps="weight 25; pause 1m; weight 50; pause 10m"`, "settle", "set image v2", "advance 90s", "scale 9"},
		"a dynamic stable version":    {`rollout web replicas=4 router=gateway dynamicStableScale=true steps="weight 10; pause 1m; weight 60; pause 1m"`, "settle", "set image v2"},
		"pods that need some seconds": {`rollout web replicas=4 minReadySeconds=20 steps="weight 25; pause 1m"`, "settle", "set image v2"},
	} {
		t.Run(name, func(t *testing.T) {
			for asked := time.Duration(0); asked < 3*time.Minute; asked += 17 * time.Second {
				w := told(t, story)
				w.Run(w.Now().Add(asked))
				p, _, err := ahead(w.Observe(sim.View{}), 10*time.Second)
				if err != nil {
					t.Fatal(err)
				}
				w.Settle(longest)
				if diff := cmp.Diff(stateOf(w), stateOf(p.world)); diff != "" {
					t.Fatalf("%s after the story: (-what happens +what was played)\n%s", asked, diff)
				}
			}
		})
	}
}

// told is the world after a story.
func told(t *testing.T, story []string) *sim.World {
	t.Helper()
	script := script.New()
	script.Hush()
	for _, line := range story {
		if _, err := script.Run(line); err != nil {
			t.Fatal(err)
		}
	}
	return script.World
}

// stateOf is what an update has come to, without times.
func stateOf(w *sim.World) string {
	s := w.Rollout().Status
	step := int32(-1)
	if s.CurrentStepIndex != nil {
		step = *s.CurrentStepIndex
	}
	return fmt.Sprintf("%s %s step %d, current %s, stable %s, %d updated, %d available: %s", s.Phase, s.Message, step, s.CurrentPodHash, s.StableRS, s.UpdatedReplicas, s.AvailableReplicas, w.Pods())
}

// A Rollout of someone else cannot keep the process busy.
func TestAheadIsBounded(t *testing.T) {
	seen := told(t, []string{`rollout web replicas=4 steps="weight 25; pause"`, "settle", "set image v2"}).Observe(sim.View{})
	seen.Rollout = seen.Rollout.DeepCopy()
	seen.Rollout.Spec.Replicas = new(int32(aheadPods + 1))
	if _, err := Ahead(seen, time.Second); err == nil || !strings.Contains(err.Error(), "2001 pods are more than the 2000") {
		t.Errorf("many pods: %v", err)
	}
	seen.Rollout.Spec.Replicas = new(int32(4))
	steps := seen.Rollout.Spec.Strategy.Canary.Steps
	for range 40 {
		seen.Rollout.Spec.Strategy.Canary.Steps = append(seen.Rollout.Spec.Strategy.Canary.Steps, steps...)
	}
	out, err := Ahead(seen, time.Second)
	if err != nil || len(out.Stretches) > aheadPromotions+1 || out.Cut == "" {
		t.Errorf("%d stretches, cut %q: %v", len(out.Stretches), out.Cut, err)
	}
}
