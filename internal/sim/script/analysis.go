package script

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// runKinds are the words of scripts for what an AnalysisRun is for.
var runKinds = map[string]string{
	"pre": v1alpha1.RolloutTypePrePromotion, "post": v1alpha1.RolloutTypePostPromotion,
	"step": v1alpha1.RolloutTypeStep, "background": v1alpha1.RolloutTypeBackground,
}

// analysis is the verb "analysis pre Failed 'too many errors'", "analysis refused because", "analysis allowed" or "analysis taken
// pre": how a run goes, or whether there can be one.
func (s *Script) analysis(args []string) (string, error) {
	switch {
	case first(args) == "refused":
		s.World.RefuseRuns(strings.Join(args[1:], " "))
	case first(args) == "allowed":
		s.World.RefuseRuns("")
	case first(args) == "taken" && len(args) == 2:
		s.World.TakeRun(s.childName(args[1]))
	case len(args) >= 2 && runKinds[args[0]] != "":
		return "", s.World.SetRun(runKinds[args[0]], v1alpha1.AnalysisPhase(args[1]), strings.Join(args[2:], " "))
	default:
		return "", errors.New("analysis pre Successful")
	}
	return "", nil
}

// childName is the name of what belongs to the Rollout's current revision.
func (s *Script) childName(suffix string) string {
	ro := s.World.Rollout()
	return fmt.Sprintf("%s-%s-%s-%s", ro.Name, ro.Status.CurrentPodHash, ro.Annotations[v1alpha1.RevisionAnnotation], suffix)
}

// template is the verb "template smoke": an AnalysisTemplate, with those that it names behind it.
func (s *Script) template(args []string) (string, error) {
	if len(args) == 0 {
		return "", errors.New("a template needs a name")
	}
	s.World.CreateTemplate(args[0], args[1:]...)
	return "", nil
}

// analysisOf is an analysis of a template, of none where it has no name.
func analysisOf(template string) *v1alpha1.RolloutAnalysis {
	a := &v1alpha1.RolloutAnalysis{}
	if template != "" {
		a.Templates = []v1alpha1.AnalysisTemplateRef{{TemplateName: template}}
	}
	return a
}

// setAnalysisField sets an analysis of the spec to one of a template, "none" to none.
func setAnalysisField(ro *v1alpha1.Rollout, key, value string) bool {
	wanted := analysisOf(value)
	if value == "none" {
		wanted = nil
	}
	b, c := ro.Spec.Strategy.BlueGreen, ro.Spec.Strategy.Canary
	switch {
	case c != nil && key == "background" && wanted == nil:
		c.Analysis = nil
	case c != nil && key == "background":
		c.Analysis = &v1alpha1.RolloutAnalysisBackground{RolloutAnalysis: *wanted}
	case c != nil && key == "startingStep" && c.Analysis != nil:
		n, _ := strconv.ParseInt(value, 10, 32)
		c.Analysis.StartingStep = new(int32(n))
	case b != nil && key == "pre":
		b.PrePromotionAnalysis = wanted
	case b != nil && key == "post":
		b.PostPromotionAnalysis = wanted
	default:
		return false
	}
	return true
}

// runText is how an AnalysisRun is doing.
func runText(run *v1alpha1.AnalysisRun) string {
	text := string(cmp.Or(run.Status.Phase, "not begun"))
	if run.Status.Message != "" {
		text += ": " + run.Status.Message
	}
	if run.Spec.Terminate {
		text += " (terminated)"
	}
	return text + argumentText(run)
}
