package progress

import (
	"fmt"

	"github.com/sluice-delivery/sluice/internal/plan/world"
)

// Third is the version that the active Service was left with where that is neither the new nor the stable one.
func (p *Progress) Third() *world.Version {
	for i := range p.world.Others {
		if active := p.Was.BlueGreen.ActiveSelector; active != "" && p.world.Others[i].Hash == active {
			return &p.world.Others[i]
		}
	}
	return nil
}

// Deserted reports whether the version that served is gone, because someone deleted its ReplicaSet.
func (p *Progress) Deserted() bool {
	return p.State() != Settled && p.world.Stable == nil && p.Third() == nil
}

// WhyGone says that there is nothing to go back to.
func (p *Progress) WhyGone() string {
	return fmt.Sprintf("the ReplicaSet of the stable version %s is gone", p.Is.StableRS)
}
