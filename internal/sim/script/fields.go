package script

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/sim"
)

// setField sets a field of a Rollout by its short name in scripts.
func setField(ro *v1alpha1.Rollout, key, value string) error {
	s, c := &ro.Spec, ro.Spec.Strategy.Canary
	number := func() *int32 {
		n, _ := strconv.ParseInt(value, 10, 32)
		out := int32(n)
		return &out
	}
	switch key {
	case "image":
		s.Template.Spec.Containers[0].Image = value
	case "port":
		s.Template.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: *number()}}
	case "replicas":
		s.Replicas = number()
	case "steps":
		steps, err := parseSteps(value)
		c.Steps = steps
		return err
	case "maxSurge":
		v := intstr.Parse(value)
		c.MaxSurge = &v
	case "maxUnavailable":
		v := intstr.Parse(value)
		if b := s.Strategy.BlueGreen; b != nil {
			b.MaxUnavailable = &v
		} else {
			c.MaxUnavailable = &v
		}
	case "minReadySeconds":
		s.MinReadySeconds = *number()
	case "progressDeadlineSeconds":
		s.ProgressDeadlineSeconds = number()
	case "progressDeadlineAbort":
		s.ProgressDeadlineAbort = value != "false"
	case "successfulRunHistoryLimit":
		s.Analysis = &v1alpha1.AnalysisRunStrategy{SuccessfulRunHistoryLimit: number()}
	case "revisionHistoryLimit":
		s.RevisionHistoryLimit = number()
	case "paused":
		s.Paused = value != "false"
	case "replicaProgressThreshold":
		return setThreshold(c, value)
	case "dynamicStableScale":
		c.DynamicStableScale = value != "false"
	case "enforceMaxSurge":
		c.EnforceMaxSurge = value != "false"
	case "canaryService":
		c.CanaryService = value
	case "stableService":
		c.StableService = value
	case "pingPong":
		ping, pong, _ := strings.Cut(value, " ")
		c.PingPong = &v1alpha1.PingPongSpec{PingService: ping, PongService: pong}
	case "router":
		return sim.SetRouter(c, value)
	case "managedRoutes":
		for name := range strings.FieldsSeq(value) {
			c.TrafficRouting.ManagedRoutes = append(c.TrafficRouting.ManagedRoutes, v1alpha1.ManagedRoute{Name: name})
		}
	case "maxTrafficWeight":
		c.TrafficRouting.MaxTrafficWeight = number()
	case "minPodsPerReplicaSet":
		c.MinPodsPerReplicaSet = number()
	case "rollbackWindow":
		s.RollbackWindow = &v1alpha1.RollbackWindowSpec{Revisions: *number()}
	case "label":
		s.Template.Labels = map[string]string{"app": value}
	default:
		if setAnalysisField(ro, key, value) || c != nil && setDelay(c, key, value) {
			return nil
		}
		return setBlueGreenField(ro, key, value)
	}
	return nil
}

// setDelay sets how long versions of a canary keep their pods.
func setDelay(c *v1alpha1.CanaryStrategy, key, value string) bool {
	n, err := strconv.ParseInt(value, 10, 32)
	number := new(int32(n))
	if err != nil {
		number = nil
	}
	switch key {
	case "scaleDownDelay":
		c.ScaleDownDelaySeconds = number
	case "scaleDownDelayRevisionLimit":
		c.ScaleDownDelayRevisionLimit = number
	case "abortScaleDownDelay":
		c.AbortScaleDownDelaySeconds = number
	default:
		return false
	}
	return true
}

func setThreshold(c *v1alpha1.CanaryStrategy, value string) error {
	n, err := strconv.ParseInt(strings.TrimSuffix(value, "%"), 10, 32)
	if err != nil {
		return err
	}
	c.ReplicaProgressThreshold = &v1alpha1.ReplicaProgressThreshold{Type: v1alpha1.ProgressThresholdPods, Value: int32(n)}
	if strings.HasSuffix(value, "%") {
		c.ReplicaProgressThreshold.Type = v1alpha1.ProgressThresholdPercent
	}
	return nil
}

// parseSteps reads "weight 25; pause 1m; pause '10'; pause".
func parseSteps(text string) ([]v1alpha1.CanaryStep, error) {
	var steps []v1alpha1.CanaryStep
	for part := range strings.SplitSeq(text, ";") {
		verb, arg, _ := strings.Cut(strings.TrimSpace(part), " ")
		switch verb {
		case "":
		case "weight":
			n, err := strconv.ParseInt(arg, 10, 32)
			if err != nil {
				return nil, err
			}
			weight := int32(n)
			steps = append(steps, v1alpha1.CanaryStep{SetWeight: &weight})
		case "pause":
			pause := &v1alpha1.RolloutPause{}
			if arg != "" {
				d := intstr.Parse(arg)
				if strings.HasPrefix(arg, "'") {
					d = intstr.FromString(strings.Trim(arg, "'"))
				}
				pause.Duration = &d
			}
			steps = append(steps, v1alpha1.CanaryStep{Pause: pause})
		case "scale":
			steps = append(steps, v1alpha1.CanaryStep{SetCanaryScale: canaryScale(arg)})
		case "header", "mirror":
			steps = append(steps, managedRoute(verb, arg))
		case "analysis":
			steps = append(steps, v1alpha1.CanaryStep{Analysis: analysisOf(arg)})
		case "experiment":
			experiment, err := experimentStep(arg)
			if err != nil {
				return nil, err
			}
			steps = append(steps, v1alpha1.CanaryStep{Experiment: experiment})
		case "plugin":
			steps = append(steps, v1alpha1.CanaryStep{Plugin: pluginStep(arg)})
		case "nothing":
			steps = append(steps, v1alpha1.CanaryStep{})
		default:
			return nil, fmt.Errorf("unknown step %q", part)
		}
	}
	return steps, nil
}

// canaryScale reads "3", "25%" or "match".
func canaryScale(arg string) *v1alpha1.SetCanaryScale {
	n, err := strconv.ParseInt(strings.TrimSuffix(arg, "%"), 10, 32)
	number := int32(n)
	switch {
	case err != nil:
		return &v1alpha1.SetCanaryScale{MatchTrafficWeight: true}
	case strings.HasSuffix(arg, "%"):
		return &v1alpha1.SetCanaryScale{Weight: &number}
	}
	return &v1alpha1.SetCanaryScale{Replicas: &number}
}

// managedRoute reads "header NAME" and "mirror NAME", and with "off" behind it the step that ends it.
func managedRoute(verb, arg string) v1alpha1.CanaryStep {
	name, off := strings.CutSuffix(arg, " off")
	if verb == "header" {
		set := &v1alpha1.SetHeaderRoute{Name: name}
		if !off {
			set.Match = []v1alpha1.HeaderRoutingMatch{{HeaderName: "x-canary", HeaderValue: &v1alpha1.StringMatch{Exact: "yes"}}}
		}
		return v1alpha1.CanaryStep{SetHeaderRoute: set}
	}
	set := &v1alpha1.SetMirrorRoute{Name: name}
	if !off {
		set.Match = []v1alpha1.RouteMatch{{Path: &v1alpha1.StringMatch{Prefix: "/"}}}
	}
	return v1alpha1.CanaryStep{SetMirrorRoute: set}
}
