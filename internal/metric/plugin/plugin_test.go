package plugin

import (
	"testing"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/metric"
)

// FuzzReading has a plugin measure anything: it is a verdict that there is, or an error; and one that is under way is not asked for at once.
func FuzzReading(f *testing.F) {
	f.Add("Running", "", "", int64(-1), "job", "7")
	f.Add("Successful", "0.5", "fine", int64(0), "", "")
	f.Add("Pending", "\xff", "", int64(1<<62), "a", string(make([]byte, 5000)))
	now := time.Unix(1_800_000_000, 0)
	p := &Provider{Clock: testingclock.NewFakePassiveClock(now)}
	f.Fuzz(func(t *testing.T, phase, value, message string, resume int64, key, text string) {
		at := metav1.NewTime(time.Unix(resume, 0))
		said := v1alpha1.Measurement{Phase: v1alpha1.AnalysisPhase(phase), Value: value, Message: message, ResumeAt: &at, Metadata: map[string]string{key: text, key + "2": text}}
		got, err := p.reading("run", metric.Request{}, said)
		if err != nil {
			return
		}
		switch got.Phase {
		case v1alpha1.AnalysisPhaseSuccessful, v1alpha1.AnalysisPhaseFailed, v1alpha1.AnalysisPhaseInconclusive:
		case v1alpha1.AnalysisPhaseRunning:
			if got.ResumeAt.Before(now.Add(soonest)) {
				t.Errorf("it is asked for again at %s, and it is %s", got.ResumeAt, now)
			}
		default:
			t.Errorf("it is taken for a measurement that is %q", got.Phase)
		}
		bytes := 0
		for key, text := range got.Metadata {
			bytes += len(key) + len(text)
			if !utf8.ValidString(key) || !utf8.ValidString(text) {
				t.Errorf("metadata %q: %q", key, text)
			}
		}
		if bytes > mostMetadataBytes {
			t.Errorf("%d bytes of metadata are kept", bytes)
		}
	})
}
