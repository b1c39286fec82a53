package plan

import (
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// cannotCreate is the pass after the API server did not take the new version's ReplicaSet. The update does not begin; what runs
// goes on running, serving, and scaling.
func (p *pass) cannotCreate() {
	switch strategy := p.world.Spec.Strategy.(type) {
	case spec.Canary:
		p.canary.WithoutNew(strategy)
	case spec.BlueGreen:
		p.blueGreenWithoutNew(strategy)
	}
	p.draft.Collect()
	if p.world.CreateFailure.Taken {
		p.tryNextHash()
		return
	}
	p.status.TellCreateFailure()
}

// tryNextHash records a hash collision. The next reconcile computes another name for the version.
func (p *pass) tryNextHash() {
	count := int32(1)
	if p.update.Is.CollisionCount != nil {
		count += *p.update.Is.CollisionCount
	}
	p.update.Is.CollisionCount = &count
	p.journal.Note(change.TopicRefuse, "the name "+p.world.CreateFailure.Name+" is taken", "another hash is tried")
	p.status.Record()
}
