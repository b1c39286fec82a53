package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-delivery/sluice/internal/sim/script"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/sim"
)

// TestNobodyIsSentToAnExperimentThatHasEnded looks at the two passes in which an Experiment's pods get traffic. The first one names them in
// the status and tells no router; the second one asks for the Experiment itself, and tells routers only if that goes on.
func TestNobodyIsSentToAnExperimentThatHasEnded(t *testing.T) {
	names, sends := sending(t)
	name := sends.Rollout.Status.Canary.CurrentExperiment

	first := plan.Next(names)
	if w := first.Record.To.Status.Canary.Weights; len(w.Additional) != 1 || w.Additional[0].ServiceName != name+"-canary" || w.Additional[0].Weight != 0 {
		t.Errorf("the first pass names the pods without a weight, not %+v", w)
	}
	if len(first.Route) > 0 {
		t.Errorf("the first pass tells routers: %v", first.Route)
	}
	if second := plan.Next(sends); len(second.Route) == 0 || second.Record.To.Status.Canary.Weights.Additional[0].Weight != 10 {
		t.Errorf("the second pass does not send them 10 %%: %+v", second)
	}

	cached := sends
	cached.LiveExperiment = ""
	if needs := plan.Next(cached).Needs; !slices.Equal(needs, []change.Need{change.NeedLiveExperiment{Name: name}}) {
		t.Errorf("by a cache alone it needs %v", needs)
	}
	ended := sends
	ex := sends.Experiments[0].DeepCopy()
	ex.Status.Phase = v1alpha1.AnalysisPhaseSuccessful
	ended.Experiments = []*v1alpha1.Experiment{ex}
	if p := plan.Next(ended); len(p.Route) > 0 || len(p.Record.To.Status.Canary.Weights.Additional) > 0 {
		t.Errorf("pods of an Experiment that has ended are sent to: %v, %+v", p.Route, p.Record.To.Status.Canary.Weights)
	}
}

// An Experiment that is not of the current step gets no traffic, although the status names it, with its Service.
func TestAnExperimentOfAnotherStepGetsNoTraffic(t *testing.T) {
	_, o := sending(t)
	its := func(p plan.Plan) int {
		if p.Record == nil || p.Record.To.Status.Canary.Weights == nil {
			return 0
		}
		return len(p.Record.To.Status.Canary.Weights.Additional)
	}
	if p := plan.Next(o); its(p) != 1 {
		t.Fatalf("its own gets none either, and the test shows nothing: %+v", p.Notes)
	}
	ex := o.Experiments[0].DeepCopy()
	before := ex.Name
	ex.Name = "web-other"
	renamed := func(name string) string { return strings.Replace(name, before, ex.Name, 1) }
	o.Experiments, o.LiveExperiment, o.Rollout = []*v1alpha1.Experiment{ex}, ex.Name, o.Rollout.DeepCopy()
	o.Rollout.Status.Canary.CurrentExperiment = ex.Name
	for i := range o.Rollout.Status.Canary.Weights.Additional {
		d := &o.Rollout.Status.Canary.Weights.Additional[i]
		d.ServiceName = renamed(d.ServiceName)
	}
	for i, s := range o.ExperimentServices {
		o.ExperimentServices[i] = s.DeepCopy()
		o.ExperimentServices[i].Name = renamed(s.Name)
	}
	if p := plan.Next(o); its(p) > 0 {
		t.Errorf("it gets traffic: %+v", p.Record.To.Status.Canary.Weights)
	}
}

// TestAnExperimentAfterTheLastStepIsNone: anyone who can write a status can name one there, in an update that cannot begin its next version.
func TestAnExperimentAfterTheLastStepIsNone(t *testing.T) {
	_, o := sending(t)
	o.Rollout = o.Rollout.DeepCopy()
	steps := int32(len(o.Rollout.Spec.Strategy.Canary.Steps))
	o.Rollout.Status.CurrentStepIndex = &steps
	o.CreateFailure = &change.CreateFailure{Name: "web-other", Message: "quota"}
	o.Rollout.Status.Canary.CurrentExperiment = fmt.Sprintf("web-%s--%d", o.Rollout.Status.CurrentPodHash, steps)
	if p := plan.Next(o); p.Record == nil || p.Record.To.Status.Phase != v1alpha1.RolloutPhaseDegraded {
		t.Errorf("it is not told that the version cannot be created: %+v", p.Notes)
	}
}

// A template with a weight of 0 gets no traffic, and is named to no router.
func TestATemplateWithoutAWeightGetsNoTraffic(t *testing.T) {
	for weight, want := range map[string]int{"w10": 1, "w0": 0} {
		o := played(t, fmt.Sprintf(`rollout web replicas=4 router=gateway port=80 steps="experiment canary:canary:%s for 1m delay 0; pause"`, weight), "settle", "set image v2", "advance 30s")
		if o.Rollout.Status.Canary.CurrentExperiment == "" {
			t.Fatalf("with %s no Experiment runs", weight)
		}
		if got := len(o.Rollout.Status.Canary.Weights.Additional); got != want {
			t.Errorf("with %s, %d templates get traffic, want %d", weight, got, want)
		}
	}
}

// sending are what two passes see: that which names an Experiment's pods in the status, and that which sends them traffic.
func sending(t *testing.T) (names, sends plan.Observed) {
	t.Helper()
	script := script.New()
	run := func(lines ...string) {
		for _, line := range lines {
			if _, err := script.Run(line); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
		}
	}
	run(`rollout web replicas=4 router=gateway port=80 steps="experiment canary:canary:w10 for 1m delay 0; pause"`, "settle")
	script.World.Loop().(*sim.Controller).OnPlan = func(p sim.Pass) {
		if p.Observed.LiveExperiment != "" {
			sends = p.Observed
		} else if sends.Rollout == nil && p.Plan.Record != nil {
			names = p.Observed
		}
	}
	run("set image v2", "advance 25s")
	if sends.Rollout == nil {
		t.Fatal("no pass has asked for the Experiment itself")
	}
	return names, sends
}

// The status of an Experiment is what who may write Experiments wrote. Traffic goes to the Service that the step's spec names, if the
// Experiment controls it, and if pods that it controls are available.
func TestTrafficOfAnExperimentGoesToItsOwnService(t *testing.T) {
	_, sends := sending(t)
	name := sends.Rollout.Status.Canary.CurrentExperiment
	own := name + "-canary"
	for story, c := range map[string]struct {
		change func(o *plan.Observed, ex *v1alpha1.Experiment)
		want   string // the Service, empty for none
	}{
		"as it is": {func(*plan.Observed, *v1alpha1.Experiment) {}, own},
		"the status names another Service": {func(_ *plan.Observed, ex *v1alpha1.Experiment) {
			ex.Status.TemplateStatuses[0].ServiceName, ex.Status.TemplateStatuses[0].PodTemplateHash = "trap", "trap"
		}, own},
		"the status says nothing": {func(_ *plan.Observed, ex *v1alpha1.Experiment) { ex.Status.TemplateStatuses = nil }, own},
		"its spec names another Service": {func(_ *plan.Observed, ex *v1alpha1.Experiment) {
			ex.Spec.Templates[0].Service = &v1alpha1.TemplateService{Name: "trap"}
		}, own},
		"the Service is someone else's": {func(o *plan.Observed, _ *v1alpha1.Experiment) {
			service := o.ExperimentServices[0].DeepCopy()
			service.OwnerReferences[0].UID = "another"
			o.ExperimentServices = []*corev1.Service{service}
		}, ""},
		"nobody controls the Service": {func(o *plan.Observed, _ *v1alpha1.Experiment) {
			service := o.ExperimentServices[0].DeepCopy()
			service.OwnerReferences = nil
			o.ExperimentServices = []*corev1.Service{service}
		}, ""},
		"the Service is being deleted": {func(o *plan.Observed, _ *v1alpha1.Experiment) {
			service := o.ExperimentServices[0].DeepCopy()
			service.DeletionTimestamp = &metav1.Time{Time: o.Now}
			o.ExperimentServices = []*corev1.Service{service}
		}, ""},
		"the pods are someone else's": {func(o *plan.Observed, _ *v1alpha1.Experiment) {
			set := o.ExperimentSets[0].DeepCopy()
			set.OwnerReferences[0].UID = "another"
			o.ExperimentSets = []*appsv1.ReplicaSet{set}
		}, ""},
		"no pod is available, whatever the status says": {func(o *plan.Observed, _ *v1alpha1.Experiment) {
			set := o.ExperimentSets[0].DeepCopy()
			set.Status.AvailableReplicas = 0
			o.ExperimentSets = []*appsv1.ReplicaSet{set}
		}, ""},
	} {
		t.Run(story, func(t *testing.T) {
			seen := sends
			ex := sends.Experiments[0].DeepCopy()
			seen.Experiments = []*v1alpha1.Experiment{ex}
			c.change(&seen, ex)
			var got, want []string
			for _, d := range plan.Next(seen).Record.To.Status.Canary.Weights.Additional {
				got = append(got, d.ServiceName)
			}
			if c.want != "" {
				want = []string{c.want}
			}
			if !slices.Equal(got, want) {
				t.Errorf("traffic goes to %q, want %q", got, want)
			}
		})
	}
}
