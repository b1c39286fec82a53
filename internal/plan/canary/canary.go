package canary

import (
	"github.com/sluice-delivery/sluice/internal/plan/routed"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// Run moves the new version towards the current step's weight, then the rollout to the next step.
func (p *Canary) Run(c spec.Canary) {
	if p.update.Is.StableRS == "" {
		p.update.Promote("Initial deploy")
	}
	p.labels.Separate(c.AntiAffinity)
	p.labels.Dress()
	if c.Traffic != nil {
		p.routing = routed.New(p.world, p.update, p.draft, p.restart, p.judge, p.journal, c)
		p.routing.Run()
	} else {
		p.basic.Run(c)
	}
	if p.judge.MayAdvance(c) {
		p.advance(c)
	}
}

// reached reports whether the pods are as the current step wants them, or else what is missing.
func (p *Canary) reached(c spec.Canary) (bool, string) {
	if why := p.world.UnseenSize(); why != "" {
		return false, why
	}
	if p.routing != nil {
		return p.routing.Reached()
	}
	return p.basic.Reached(c)
}

// WithoutNew has the Services of a canary send to versions that there are while the new one cannot be created: the stable Service to the
// stable version, and the canary Service to that too where somebody's edit has it at none.
func (p *Canary) WithoutNew(c spec.Canary) {
	p.draft.CheckServices()
	if c.Traffic != nil {
		r := routed.New(p.world, p.update, p.draft, p.restart, p.judge, p.journal, c)
		r.WithoutNew()
		return
	}
	p.basic.WithoutNew(c)
}
