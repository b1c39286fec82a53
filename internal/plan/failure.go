package plan

import (
	"time"

	"github.com/sluice-delivery/sluice/internal/change"
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
		p.canaryWithoutNew(strategy)
	case spec.BlueGreen:
		p.serveWithoutNew(strategy)
	}
	p.collect()
	if p.CreateFailure.Taken {
		p.tryNextHash()
		return
	}
	p.tellCreateFailure()
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
