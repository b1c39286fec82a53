package explore

import "time"

// These are the World's own, and are written down.

func (p *people) Abort() {
	p.does("Abort")
	p.World.Abort()
}

func (p *people) Retry() {
	p.does("Retry")
	p.World.Retry()
}

func (p *people) Promote() {
	p.does("Promote")
	p.World.Promote()
}

func (p *people) PromoteFull() {
	p.does("PromoteFull")
	p.World.PromoteFull()
}

func (p *people) DeleteDeployment() {
	p.does("DeleteDeployment")
	p.World.DeleteDeployment()
}

func (p *people) Scale(n int32) {
	p.does("Scale", n)
	p.World.Scale(n)
}

func (p *people) Pause(paused bool) {
	p.does("Pause", paused)
	p.World.Pause(paused)
}

func (p *people) SetImage(image string) {
	p.does("SetImage", image)
	p.World.SetImage(image)
}

func (p *people) Restart(at time.Time) {
	p.does("Restart", at)
	p.World.Restart(at)
}

func (p *people) SetBudget(n int) {
	p.does("SetBudget", n)
	p.World.SetBudget(n)
}

func (p *people) SetQuota(n int) {
	p.does("SetQuota", n)
	p.World.SetQuota(n)
}

func (p *people) DeleteReplicaSet(image string) {
	p.does("DeleteReplicaSet", image)
	p.World.DeleteReplicaSet(image)
}

func (p *people) Refuse(message string) {
	p.does("Refuse", message)
	p.World.Refuse(message)
}

func (p *people) RefuseRuns(message string) {
	p.does("RefuseRuns", message)
	p.World.RefuseRuns(message)
}

func (p *people) Take(name string) {
	p.does("Take", name)
	p.World.Take(name)
}

func (p *people) CreateService(name string) {
	p.does("CreateService", name)
	p.World.CreateService(name)
}

func (p *people) DeleteService(name string) {
	p.does("DeleteService", name)
	p.World.DeleteService(name)
}

func (p *people) CreateTemplate(name string) {
	p.does("CreateTemplate", name)
	p.World.CreateTemplate(name)
}

func (p *people) DeleteTemplate(name string) {
	p.does("DeleteTemplate", name)
	p.World.DeleteTemplate(name)
}

func (p *people) DeleteRuns(kind string) {
	p.does("DeleteRuns", kind)
	p.World.DeleteRuns(kind)
}

func (p *people) DeleteRun(name string) {
	p.does("DeleteRun", name)
	p.World.DeleteRun(name)
}

func (p *people) DeleteExperiment(name string) {
	p.does("DeleteExperiment", name)
	p.World.DeleteExperiment(name)
}

func (p *people) DeleteRoute(kind, name string) {
	p.does("DeleteRoute", kind, name)
	p.World.DeleteRoute(kind, name)
}

func (p *people) Kill(image string, n int) {
	p.does("Kill", image, n)
	p.World.Kill(image, n)
}

func (p *people) Unready(image string, n int, back time.Duration) {
	p.does("Unready", image, n, back)
	p.World.Unready(image, n, back)
}
