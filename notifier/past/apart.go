package past

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// joint is what controllers before version 0.1 wrote between the texts of ordinary events that they merged: those on one object with one reason, within
// five seconds.
const joint = "; "

// Apart returns the events that a controller merged into one, each with a count of its own, or the event itself. Those of one reason begin with the
// same word, and the count of a merged one is at least their number; a text that only contains a semicolon stays whole.
func Apart(e *corev1.Event) []*corev1.Event {
	texts := strings.Split(e.Message, joint)
	if len(texts) == 1 || e.Type != corev1.EventTypeNormal || int(e.Count) < len(texts) {
		return []*corev1.Event{e}
	}
	begins, _, _ := strings.Cut(texts[0], " ")
	parts := make([]*corev1.Event, len(texts))
	for i, text := range texts {
		if word, _, _ := strings.Cut(text, " "); word != begins {
			return []*corev1.Event{e}
		}
		parts[i] = e.DeepCopy()
		parts[i].Message, parts[i].Count = text, int32(i+1) //nolint:gosec // no more than the count, which is an int32
	}
	return parts
}
