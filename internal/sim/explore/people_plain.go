package explore

import "time"

// Abort is the World's, and is written down.
func (p *people) Abort() {
	p.does("Abort")
	p.World.Abort()
}

// Retry is the World's, and is written down.
func (p *people) Retry() {
	p.does("Retry")
	p.World.Retry()
}

// Promote is the World's, and is written down.
func (p *people) Promote() {
	p.does("Promote")
	p.World.Promote()
}

// PromoteFull is the World's, and is written down.
func (p *people) PromoteFull() {
	p.does("PromoteFull")
	p.World.PromoteFull()
}

// DeleteDeployment is the World's, and is written down.
func (p *people) DeleteDeployment() {
	p.does("DeleteDeployment")
	p.World.DeleteDeployment()
}

// Scale is the World's, and is written down.
func (p *people) Scale(n int32) {
	p.does("Scale", n)
	p.World.Scale(n)
}

// Pause is the World's, and is written down.
func (p *people) Pause(paused bool) {
	p.does("Pause", paused)
	p.World.Pause(paused)
}

// SetImage is the World's, and is written down.
func (p *people) SetImage(image string) {
	p.does("SetImage", image)
	p.World.SetImage(image)
}

// Restart is the World's, and is written down.
func (p *people) Restart(at time.Time) {
	p.does("Restart", at)
	p.World.Restart(at)
}

// SetBudget is the World's, and is written down.
func (p *people) SetBudget(n int) {
	p.does("SetBudget", n)
	p.World.SetBudget(n)
}

// SetQuota is the World's, and is written down.
func (p *people) SetQuota(n int) {
	p.does("SetQuota", n)
	p.World.SetQuota(n)
}

// DeleteReplicaSet is the World's, and is written down.
func (p *people) DeleteReplicaSet(image string) {
	p.does("DeleteReplicaSet", image)
	p.World.DeleteReplicaSet(image)
}

// Refuse is the World's, and is written down.
func (p *people) Refuse(message string) {
	p.does("Refuse", message)
	p.World.Refuse(message)
}

// RefuseRuns is the World's, and is written down.
func (p *people) RefuseRuns(message string) {
	p.does("RefuseRuns", message)
	p.World.RefuseRuns(message)
}

// Take is the World's, and is written down.
func (p *people) Take(name string) {
	p.does("Take", name)
	p.World.Take(name)
}

// CreateService is the World's, and is written down.
func (p *people) CreateService(name string) {
	p.does("CreateService", name)
	p.World.CreateService(name)
}

// DeleteService is the World's, and is written down.
func (p *people) DeleteService(name string) {
	p.does("DeleteService", name)
	p.World.DeleteService(name)
}

// CreateTemplate is the World's, and is written down.
func (p *people) CreateTemplate(name string) {
	p.does("CreateTemplate", name)
	p.World.CreateTemplate(name)
}

// DeleteTemplate is the World's, and is written down.
func (p *people) DeleteTemplate(name string) {
	p.does("DeleteTemplate", name)
	p.World.DeleteTemplate(name)
}

// DeleteRuns is the World's, and is written down.
func (p *people) DeleteRuns(kind string) {
	p.does("DeleteRuns", kind)
	p.World.DeleteRuns(kind)
}

// DeleteRun is the World's, and is written down.
func (p *people) DeleteRun(name string) {
	p.does("DeleteRun", name)
	p.World.DeleteRun(name)
}

// DeleteExperiment is the World's, and is written down.
func (p *people) DeleteExperiment(name string) {
	p.does("DeleteExperiment", name)
	p.World.DeleteExperiment(name)
}

// DeleteRoute is the World's, and is written down.
func (p *people) DeleteRoute(kind, name string) {
	p.does("DeleteRoute", kind, name)
	p.World.DeleteRoute(kind, name)
}

// Kill is the World's, and is written down.
func (p *people) Kill(image string, n int) {
	p.does("Kill", image, n)
	p.World.Kill(image, n)
}

// Unready is the World's, and is written down.
func (p *people) Unready(image string, n int, back time.Duration) {
	p.does("Unready", image, n, back)
	p.World.Unready(image, n, back)
}
