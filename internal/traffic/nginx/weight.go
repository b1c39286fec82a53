package nginx

import (
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/traffic"
)

// Weight implements [traffic.Router].
func (r router) Weight(of traffic.Split, have traffic.Objects) (traffic.Interval, bool) {
	var all traffic.Interval
	for i, in := range r.spec.StableIngresses {
		if have[r.ref(in.Name, in.Field).Key()] == nil {
			return traffic.Interval{}, false
		}
		one, ok := r.weightOf(have[r.ref(CanaryName(r.owner.Name, in.Name), "").Key()], of.Max)
		switch {
		case !ok:
			return traffic.Interval{}, false
		case i == 0:
			all = one
		default:
			all = all.And(one)
		}
	}
	return all, len(r.spec.StableIngresses) > 0
}

// weightOf is the weight that a canary Ingress carries: none where there is no such Ingress.
func (r router) weightOf(canary *unstructured.Unstructured, most int32) (traffic.Interval, bool) {
	if canary == nil {
		return traffic.Interval{}, true
	}
	annotations := canary.GetAnnotations()
	if !traffic.Controls(r.owner, canary) || annotations[r.spec.Prefix+"/canary"] != "true" {
		return traffic.Interval{}, false
	}
	weight, ok := number(annotations, r.spec.Prefix+"/canary-weight", 0)
	if !ok {
		return traffic.Interval{}, false
	}
	total, ok := number(annotations, r.spec.Prefix+"/canary-weight-total", int64(v1alpha1.DefaultMaxTrafficWeight))
	if !ok {
		return traffic.Interval{}, false
	}
	return traffic.Portion(weight, total, most)
}

func number(annotations map[string]string, key string, byDefault int64) (int64, bool) {
	text, ok := annotations[key]
	if !ok {
		return byDefault, true
	}
	n, err := strconv.ParseInt(text, 10, 32)
	return n, err == nil
}
