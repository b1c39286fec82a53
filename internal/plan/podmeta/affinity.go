package podmeta

import (
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan/world"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// Separate keeps pods of the new version off the nodes of the stable one, so that an autoscaler which empties nodes after the
// update does not evict the new version together with the old. It is a term in the template of the new version's ReplicaSet,
// as long as there is another version to keep away from: no pod that runs is touched when it comes or goes.
func (l *Labeler) Separate(a spec.AntiAffinity) {
	hash := ""
	if stable := l.world.StableBeside(); stable != nil {
		hash = stable.Hash
	}
	if l.draft.Create != nil {
		t := &l.draft.Create.ReplicaSet.Spec.Template.Spec
		t.Affinity = a.Apply(t.Affinity, l.world.Rollout.Namespace, hash)
	}
	for _, v := range l.world.All() {
		from := ""
		if v == l.world.New {
			from = hash
		}
		have := v.Spec.Template.Spec.Affinity
		want := a.Apply(have, l.world.Rollout.Namespace, from)
		if !equality.Semantic.DeepEqual(have, want) {
			l.draft.Edit(v).Spec.Template.Spec.Affinity = want
			l.journal.Note(change.TopicGrow, antiAffinityText(a, v, from), "antiAffinity")
		}
	}
}

func antiAffinityText(a spec.AntiAffinity, v *world.Version, from string) string {
	if from == "" || a == (spec.AntiAffinity{}) {
		return "let pods of " + v.Name + " onto any node"
	}
	return "keep pods of " + v.Name + " off the nodes of " + from
}
