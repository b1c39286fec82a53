package canary

import (
	"github.com/sluice-delivery/sluice/internal/spec"
)

// Run moves the new version towards the current step's weight, then the rollout to the next step.
func (p *Canary) Run(c spec.Canary) {
	if c.Traffic != nil {
		p.routing = p.mover.ByWeight(p.restart, p.judge, c)
		p.routing.Run()
	} else {
		p.pods = p.mover.ByPods(p.restart, c)
		p.pods.Run()
	}
	if p.judge.MayAdvance(c) {
		p.advance(c)
	}
}

// reached reports whether the pods are as the current step wants them, or else what is missing.
func (p *Canary) reached() (bool, string) {
	if why := p.world.UnseenSize(); why != "" {
		return false, why
	}
	if p.routing != nil {
		return p.routing.Reached()
	}
	return p.pods.Reached()
}

// WithoutNew points a canary's Services at existing versions while the new one cannot be created: the stable Service at the stable version,
// and the canary Service there too if a manual edit left it without a version.
func (p *Canary) WithoutNew(c spec.Canary) {
	if c.Traffic != nil {
		p.mover.ByWeight(p.restart, p.judge, c).WithoutNew()
		return
	}
	p.mover.ByPods(p.restart, c).WithoutNew()
}
