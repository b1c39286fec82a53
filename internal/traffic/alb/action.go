package alb

import (
	"encoding/json"
	"strconv"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
)

// action is what the AWS Load Balancer Controller reads from an annotation. The order of the fields is that of the text.
type action struct {
	Type          string
	ForwardConfig forwardConfig
}

type forwardConfig struct {
	TargetGroups                []targetGroup
	TargetGroupStickinessConfig *stickiness `json:",omitempty"`
}

type targetGroup struct {
	ServiceName string
	ServicePort string
	Weight      int64
}

type stickiness struct {
	Enabled         bool
	DurationSeconds int64
}

// forward is the text of an action that forwards to Services by weight.
func forward(a spec.ALB, to ...traffic.Destination) string {
	out := action{Type: "forward"}
	for _, d := range to {
		out.ForwardConfig.TargetGroups = append(out.ForwardConfig.TargetGroups,
			targetGroup{ServiceName: d.Service, ServicePort: strconv.Itoa(int(a.Port)), Weight: int64(d.Weight)})
	}
	if a.StickySeconds > 0 {
		out.ForwardConfig.TargetGroupStickinessConfig = &stickiness{Enabled: true, DurationSeconds: a.StickySeconds}
	}
	return text(out)
}

// released is an action of which only the last target group is left, which is the stable one.
func released(old string) string {
	var a action
	if json.Unmarshal([]byte(old), &a) != nil || len(a.ForwardConfig.TargetGroups) == 0 {
		return old
	}
	groups := a.ForwardConfig.TargetGroups
	last := groups[len(groups)-1]
	last.Weight = int64(v1alpha1.DefaultMaxTrafficWeight)
	a.ForwardConfig.TargetGroups = []targetGroup{last}
	return text(a)
}

// condition is a member of the list by which requests are chosen.
type condition struct {
	Field            string           `json:"field"`
	HTTPHeaderConfig httpHeaderConfig `json:"httpHeaderConfig"`
}

type httpHeaderConfig struct {
	HTTPHeaderName string   `json:"httpHeaderName"`
	Values         []string `json:"values"`
}

// conditions are those of a header route, after those that people gave the root Service. The load balancer takes requests that fit all of
// them, of each header one value.
func conditions(route traffic.HeaderRoute, theirs string) string {
	var all []condition
	at := map[string]int{}
	for _, m := range route.Match {
		i, known := at[m.Header]
		if !known {
			i = len(all)
			at[m.Header] = i
			all = append(all, condition{Field: "http-header", HTTPHeaderConfig: httpHeaderConfig{HTTPHeaderName: m.Header}})
		}
		all[i].HTTPHeaderConfig.Values = append(all[i].HTTPHeaderConfig.Values, m.Value.Value)
	}
	var list []json.RawMessage
	if json.Unmarshal([]byte(theirs), &list) != nil {
		list = nil // the load balancer's controller tells them
	}
	for _, c := range all {
		list = append(list, json.RawMessage(text(c)))
	}
	return text(list)
}

func text(value any) string {
	out, err := json.Marshal(value)
	if err != nil {
		return "" // texts and numbers always can be
	}
	return string(out)
}
