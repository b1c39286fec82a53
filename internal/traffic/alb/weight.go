package alb

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-delivery/sluice/internal/traffic"
)

// Weight implements [traffic.Router].
func (r router) Weight(of traffic.Split, have traffic.Objects) (traffic.Interval, bool) {
	var all traffic.Interval
	for i, in := range r.spec.Ingresses {
		o := have[r.ref(in).Key()]
		if o == nil {
			return traffic.Interval{}, false
		}
		one, ok := r.weight(of, o)
		switch {
		case !ok:
			return traffic.Interval{}, false
		case i == 0:
			all = one
		default:
			all = all.And(one)
		}
	}
	return all, len(r.spec.Ingresses) > 0
}

// weight reads the action of an Ingress.
func (r router) weight(of traffic.Split, o *unstructured.Unstructured) (traffic.Interval, bool) {
	var a action
	if json.Unmarshal([]byte(o.GetAnnotations()[r.actionKey(r.root(of))]), &a) != nil {
		return traffic.Interval{}, false
	}
	var canary, total int64
	for _, group := range a.ForwardConfig.TargetGroups {
		if group.Weight < 0 || group.Weight > maxWeight {
			return traffic.Interval{}, false
		}
		total += group.Weight
		if group.ServiceName == of.Canary.Service {
			canary += group.Weight
		}
	}
	return traffic.Portion(canary, total, of.Max)
}

// maxWeight is the largest weight that a load balancer takes.
const maxWeight = 999
