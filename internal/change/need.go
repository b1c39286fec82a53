package change

// Need is something that must be looked at: [NeedLiveServices], [NeedLiveRouting], [NeedLiveRollout], [NeedLiveExperiment] or [NeedPods].
//
//sumtype:decl
type Need interface{ isNeed() }

// NeedLiveServices asks for Observed.Services as the API server has them now: a version that has served is about to lose all its pods, which
// requests reach by Services alone, or one is about to be promoted that an earlier pass, or a person, has switched to.
type NeedLiveServices struct{}

// NeedLiveRouting asks for Observed.Routes as well: a version is about to lose pods, and by the weight of a Service that selects it others
// carry what they carried.
type NeedLiveRouting struct{}

// NeedLiveRollout asks whether the Rollout is there and stays, by what the API server says now: it is about to own what would go with it.
// If not, the pass is to end here.
type NeedLiveRollout struct{}

// NeedLiveExperiment asks for one of Observed.Experiments as the API server has it now: its pods are about to get traffic, and may be on
// their way out.
type NeedLiveExperiment struct{ Name string }

// NeedPods asks for the pods of one version. They are not cached: few passes need them, and there are many.
type NeedPods struct{ Hash string }

func (NeedLiveServices) isNeed()   {}
func (NeedLiveRouting) isNeed()    {}
func (NeedLiveRollout) isNeed()    {}
func (NeedLiveExperiment) isNeed() {}
func (NeedPods) isNeed()           {}
