package progress

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/clean"
)

// Condition is the condition as it stands in the status being written, the zero value if there is none.
func (p *Progress) Condition(kind v1alpha1.RolloutConditionType) v1alpha1.RolloutCondition {
	if i := p.Index(kind); i >= 0 {
		return p.Is.Conditions[i]
	}
	return v1alpha1.RolloutCondition{}
}

// WasTrue reports whether a condition was true as of the last pass.
func (p *Progress) WasTrue(kind v1alpha1.RolloutConditionType) bool {
	return slices.ContainsFunc(p.Was.Conditions, func(c v1alpha1.RolloutCondition) bool {
		return c.Type == kind && c.Status == corev1.ConditionTrue
	})
}

// Index is where a condition is in the status being written, -1 if there is none.
func (p *Progress) Index(kind v1alpha1.RolloutConditionType) int {
	return slices.IndexFunc(p.Is.Conditions, func(c v1alpha1.RolloutCondition) bool { return c.Type == kind })
}

// SetTrue is Set with the status True.
func (p *Progress) SetTrue(kind v1alpha1.RolloutConditionType, reason, message string) {
	p.Set(kind, corev1.ConditionTrue, reason, message)
}

// Set leaves a condition alone that says the same already. The transition time moves only with the status. What others wrote steers nobody's
// terminal.
func (p *Progress) Set(kind v1alpha1.RolloutConditionType, status corev1.ConditionStatus, reason, message string) {
	now, message := p.world.Second(), clean.Text(message)
	next := v1alpha1.RolloutCondition{
		Type: kind, Status: status, Reason: reason, Message: message, LastUpdateTime: now, LastTransitionTime: now,
	}
	i := p.Index(kind)
	if i < 0 {
		p.Is.Conditions = append(p.Is.Conditions, next)
		slices.SortFunc(p.Is.Conditions, func(a, b v1alpha1.RolloutCondition) int { return cmp.Compare(a.Type, b.Type) })
		return
	}
	have := p.Is.Conditions[i]
	if have.Status == status && have.Reason == reason && Plain(have.Message) == message {
		return
	}
	if have.Status == status {
		next.LastTransitionTime = have.LastTransitionTime
	}
	p.Is.Conditions[i] = next
}

// Touch notes progress on a condition that says the same as before.
func (p *Progress) Touch(kind v1alpha1.RolloutConditionType) {
	p.Is.Conditions[p.Index(kind)].LastUpdateTime = p.world.Second()
}

// Remove takes a condition away.
func (p *Progress) Remove(kind v1alpha1.RolloutConditionType) {
	p.Is.Conditions = slices.DeleteFunc(p.Is.Conditions, func(c v1alpha1.RolloutCondition) bool { return c.Type == kind })
}

// Both marks end the sentence that tools know: judgedMark begins the one about an analysis, and troubleMark, the last one, that about pods.
const (
	JudgedMark  = " Waiting for the result of "
	TroubleMark = " Waiting for pods: "
)

// Plain is the sentence that tools know.
func Plain(message string) string {
	message, _, _ = strings.Cut(message, TroubleMark)
	message, _, _ = strings.Cut(message, JudgedMark)
	return message
}
