package plan

import (
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/clean"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// createRetry is how often a ReplicaSet that the API server refused is tried again: what refused it, such as a quota or an
// admission policy, may be mended without the Rollout changing.
const createRetry = 30 * time.Second

// cannotCreate is the pass after the API server did not take the new version's ReplicaSet. The update does not begin; what runs
// goes on running, serving, and scaling.
func (p *pass) cannotCreate() {
	switch strategy := p.spec.Strategy.(type) {
	case spec.Canary:
		p.answerWithoutNew(strategy)
		if p.stable != nil && p.mayNotScale() == "" {
			p.scale(p.stable, p.sizeWithoutNew(strategy), withoutNew)
		}
	case spec.BlueGreen:
		p.serveWithoutNew(strategy)
	}
	p.collect()
	if p.CreateFailure.Taken {
		p.tryNextHash()
		return
	}
	p.count()
	p.is.ObservedGeneration = strconv.FormatInt(p.Rollout.Generation, 10) // or clients wait for it, and do not show the message
	p.remove(v1alpha1.ConditionInvalidSpec)
	p.setAvailable()
	p.setHealthy()
	p.setReplicaFailure()

	message := clean.Text("Failed to create replica set \"" + p.CreateFailure.Name + "\": " + p.CreateFailure.Message)
	if p.condition(v1alpha1.ConditionProgressing).Message != message {
		p.Warn(v1alpha1.ReasonReplicaSetCreateError, "%s", message)
	}
	p.set(v1alpha1.ConditionProgressing, corev1.ConditionFalse, v1alpha1.ReasonReplicaSetCreateError, message)
	p.Note(change.TopicRefuse, "create "+p.CreateFailure.Name, p.CreateFailure.Message)
	p.is.Phase, p.is.Message = v1alpha1.RolloutPhaseDegraded, v1alpha1.ReasonReplicaSetCreateError+": "+message
	p.WakeAt(p.Now.Add(createRetry))
	p.record()
}

// withoutNew is why what runs is scaled although there is an update to begin.
const withoutNew = "the new version cannot be created"

// serveWithoutNew has the active Service select the version that served before the update that cannot begin, with all its pods. The Service
// may have been edited, and what served deleted, since the last pass that had its ReplicaSets.
func (p *pass) serveWithoutNew(b spec.BlueGreen) {
	p.checkServices()
	if p.spec.Paused && !p.is.Abort || len(p.problems) > 0 {
		return
	}
	v, why := p.servesStill()
	if v == nil {
		return
	}
	p.serving = v
	p.keep(v)
	p.resize(v, p.spec.Replicas, withoutNew, b)
	p.activate(b, v, why)
	p.seeSelectors(b)
}

// answerWithoutNew has the Services of a canary send to versions that there are: the stable Service to the stable version, and the canary
// Service to that too where somebody's edit has it at none.
func (p *pass) answerWithoutNew(c spec.Canary) {
	p.checkServices()
	if len(p.problems) > 0 {
		return
	}
	stable, canary := p.servicesByPart(c)
	switch {
	case c.Traffic == nil:
		p.pointAvailable(stable.Name, p.stable, "it is the stable version")
	case p.stable != nil:
		p.newRouting(c).pointStable()
	}
	if hash := p.selects(canary.Name); hash != "" && p.find(hash) == nil {
		p.pointAvailable(canary.Name, p.stable, "it selects no version that there is")
	}
}

// sizeWithoutNew is how many pods the stable version should have while there can be no other.
func (p *pass) sizeWithoutNew(c spec.Canary) int32 {
	if c.Traffic != nil { // never fewer: another version may still carry traffic
		return max(p.stable.desired(), roomFor(p.stable.desired(), p.spec.Replicas, p.freeWithin(roomOf(p.spec.Replicas, c))))
	}
	l := limits{replicas: p.spec.Replicas, maxSurge: c.MaxSurge, maxUnavailable: c.MaxUnavailable}
	return basicCounts(l, counts{stable: p.spec.Replicas}, fleet{}, p.stable.fleet(), p.otherFleets()).stable
}

// tryNextHash records a collision of hashes. The next pass names the version anew.
func (p *pass) tryNextHash() {
	count := int32(1)
	if p.is.CollisionCount != nil {
		count += *p.is.CollisionCount
	}
	p.is.CollisionCount = &count
	p.Note(change.TopicRefuse, "the name "+p.CreateFailure.Name+" is taken", "another hash is tried")
	p.record()
}
