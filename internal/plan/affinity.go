package plan

import (
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// separate keeps pods of the new version off the nodes of the stable one, so that an autoscaler which empties nodes after the
// update does not evict the new version together with the old. It is a term in the template of the new version's ReplicaSet,
// as long as there is another version to keep away from: no pod that runs is touched when it comes or goes.
func (p *pass) separate(a spec.AntiAffinity) {
	hash := ""
	if stable := p.stableBeside(); stable != nil {
		hash = stable.hash
	}
	if p.create != nil {
		t := &p.create.ReplicaSet.Spec.Template.Spec
		t.Affinity = a.Apply(t.Affinity, p.Rollout.Namespace, hash)
	}
	for _, v := range p.all() {
		from := ""
		if v == p.new {
			from = hash
		}
		have := v.Spec.Template.Spec.Affinity
		want := a.Apply(have, p.Rollout.Namespace, from)
		if !equality.Semantic.DeepEqual(have, want) {
			p.editFor(v, "antiAffinity").to.Spec.Template.Spec.Affinity = want
			p.Note(change.TopicGrow, antiAffinityText(a, v, from), "antiAffinity")
		}
	}
}

func antiAffinityText(a spec.AntiAffinity, v *version, from string) string {
	if from == "" || a == (spec.AntiAffinity{}) {
		return "let pods of " + v.Name + " onto any node"
	}
	return "keep pods of " + v.Name + " off the nodes of " + from
}
