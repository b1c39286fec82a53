package plan

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
)

// Next is what to do now about a Rollout, as far as what was observed tells. A settled Rollout gets a plan without writes.
func Next(o Observed) Plan {
	if o.Rollout.DeletionTimestamp != nil {
		return Plan{} // what it owns goes by owner references
	}
	written, problems := spec.WithWorkload(o.Rollout, o.Workload)
	r, others := spec.Resolve(written)
	problems = append(append(problems, others...), o.Policy.Problems(r)...)
	problems = append(problems, unreadableAbort(o.Rollout)...)
	p := newPass(o, r)
	if len(problems) > 0 {
		p.refuse(problems)
		return p.done()
	}
	if p.adopts() {
		return p.done()
	}
	if o.CreateFailure != nil {
		p.cannotCreate()
		return p.done()
	}
	if p.begins() && p.restartUnreported() {
		return p.done()
	}
	p.revise()
	p.lookForRestart()
	p.seeRuns()
	switch strategy := r.Strategy.(type) {
	case spec.Canary:
		p.is.BlueGreen = v1alpha1.BlueGreenStatus{}
		p.canary(strategy)
	case spec.BlueGreen:
		p.is.Canary = v1alpha1.CanaryStatus{}
		p.blueGreen(strategy)
	}
	p.replaceOld()
	p.takeOver()
	p.checkAnalyses()
	p.endRuns()
	p.endExperiments()
	p.forget()
	p.forgetRuns()
	p.forgetExperiments()
	p.conclude()
	return p.done()
}

// done is the plan with all that the pass had to say.
func (p *pass) done() Plan {
	return Plan{
		Grow: p.grow, Route: p.route, Judge: p.judge, Shrink: p.shrink, Record: p.written, Label: p.label,
		Events: p.Events, Notes: p.Notes, Needs: p.Needs, Wake: p.Wake,
	}
}

// pass is one run of [Next]: what was observed, and what has been decided so far.
type pass struct {
	Observed
	spec spec.Rollout
	versions

	// was is the status as observed, is the one to record, still being written.
	was, is *v1alpha1.RolloutStatus
	// annotations of the Rollout to set.
	annotations map[string]string

	// edits are the ReplicaSets that change, by name, so that all changes of one are one write.
	edits map[string]*edit
	// serviceEdits are the Services that change, by name.
	serviceEdits map[string]change.UpdateService
	// routeWrites are the changes to objects of traffic routers, in the order of the routers.
	routeWrites []change.Change
	// held: traffic would come back to the stable version, and how many pods that has is not known yet, or too few. Routers are left as they
	// are: after a crash some may have given back more than the others, or have been given more than the status tells.
	held bool
	// routing is the split of a routed canary's traffic; nil where the share of the pods is the share of the traffic.
	routing *routing
	// serving is the version that the active Service of a blue-green rollout ought to select; nil until that is decided.
	serving *version
	// elsewhere are the routes of other namespaces whose notes may concern this Rollout.
	elsewhere map[traffic.Key]bool
	// problems are what is wrong with the objects that the spec names.
	problems []spec.Problem
	// create is the new version's ReplicaSet while there is none.
	create *change.CreateReplicaSet
	// begun and retried say what happened in this pass that conditions report.
	begun, retried bool

	// restart is the restart that is under way, nil if there is none.
	restart *restart
	// fast: this pass has found that the update goes back to a version that has all its pods still.
	fast bool
	// trouble is what keeps pods from being ready, if that was looked at.
	trouble string
	// knowsPods: this pass knows what keeps them, if anything.
	knowsPods bool
	// redressed: pods get other metadata from this pass on.
	redressed bool
	// refusals are why pods cannot be labelled, one for each pod that was looked at.
	refusals []string
	// failure is why the update is to be aborted, if so. The abort is recorded last, and the next pass acts on it.
	failure string
	// aborted is why the controller has aborted the update in this pass, if so.
	aborted string
	// expired is the AnalysisRun whose time is up.
	expired string

	// grow, route, judge, shrink and label are the plan's changes, as they come.
	grow, route, judge, shrink, label []change.Change
	// written is the plan's record.
	written *Record
	change.Journal
}

// unreadableAbort tells a person who aborts an update of which the spec cannot be read that nothing comes of it for now.
func unreadableAbort(ro *v1alpha1.Rollout) []spec.Problem {
	if !ro.Status.Abort || len(ro.Unreadable.Of("spec")) == 0 {
		return nil
	}
	return []spec.Problem{{Field: "status.abort", Text: "the update is aborted as soon as the spec can be read: correct it, or apply the manifest of the stable version"}}
}

func newPass(o Observed, r spec.Rollout) *pass {
	was := &o.Rollout.Status
	return &pass{
		Observed:    o,
		spec:        r,
		versions:    sortVersions(o.ReplicaSets, r, was.CollisionCount, was.StableRS),
		was:         was,
		is:          was.DeepCopy(),
		annotations: map[string]string{},
		elsewhere:   Elsewhere(o.Rollout),
		edits:       map[string]*edit{},

		serviceEdits: map[string]change.UpdateService{},
	}
}

// promoted reports whether the current version is the stable one: nothing is being updated.
func (p *pass) promoted() bool { return p.is.StableRS != "" && p.is.StableRS == p.is.CurrentPodHash }

// now is the present in the whole seconds that the API stores.
func (p *pass) now() metav1.Time { return metav1.NewTime(p.Now.Truncate(time.Second)) }

// nowOrLater is the first whole second that is not before the present, for starts of waits: a wait that is counted from a
// truncated time would end too early.
func (p *pass) nowOrLater() metav1.Time {
	return metav1.NewTime(p.Now.Add(time.Second - time.Nanosecond).Truncate(time.Second))
}
