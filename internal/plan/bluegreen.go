package plan

import (
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan/bluegreen"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// runBlueGreen moves a blue-green rollout, and promotes the new version once it serves and is found good.
func (p *pass) runBlueGreen(b spec.BlueGreen) {
	want := bluegreen.New(p.world, p.update, p.restart, p.judge, b)
	m := p.mover.BySwitch(p.restart, want, b)
	if m.Begin() {
		p.judge.DropAnalyses(b)
		if m.Run() && p.judge.PassedAfterSwitch(b) && p.seenSwitched(b) {
			p.update.Promote(want.Completed())
		}
		m.Clear()
	}
	p.seeSelectors(b)
}

// seenSwitched reports whether the switch is certain: a write of this pass vouches for it, or the API server itself shows it.
func (p *pass) seenSwitched(b spec.BlueGreen) bool {
	if p.world.ObservedSelects(b.ActiveService) == p.world.New.Hash && !p.world.ServicesLive {
		p.journal.Need(change.NeedLiveServices{})
		return false
	}
	return true
}

// seeSelectors records what the Services select. For the active Service that is the version that should serve: a version that a manual edit
// selected, and that could not be reverted yet, is not recorded.
func (p *pass) seeSelectors(b spec.BlueGreen) {
	if active := p.draft.Selects(b.ActiveService); p.update.Serving != nil && active == p.update.Serving.Hash {
		p.update.Is.BlueGreen.ActiveSelector = active
	}
	p.update.Is.BlueGreen.PreviewSelector = ""
	if b.PreviewService != "" {
		p.update.Is.BlueGreen.PreviewSelector = p.draft.Selects(b.PreviewService)
	}
}

// blueGreenWithoutNew has what served before an update that cannot begin serve on.
func (p *pass) blueGreenWithoutNew(b spec.BlueGreen) {
	p.mover.BySwitch(p.restart, bluegreen.New(p.world, p.update, p.restart, p.judge, b), b).WithoutNew()
	if p.update.Serving != nil {
		p.seeSelectors(b)
	}
}
