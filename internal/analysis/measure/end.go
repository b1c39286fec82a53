package measure

import (
	"cmp"
	"slices"
	"time"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// endEarly ends what is under way.
func (p *pass) endEarly() {
	for _, m := range p.metrics {
		switch {
		case ended(m.result.Phase):
		case p.busy(m):
			p.plan.Cancel = append(p.plan.Cancel, m.metric.Name)
		case m.running() != nil:
			p.stop(m)
		}
	}
}

// stop ends a measurement that is under way. It found nothing out, so it is inconclusive, and it counts for nothing.
func (p *pass) stop(m *state) {
	p.plan.Stop = append(p.plan.Stop, p.bare(m))
	p.note("stop measuring "+m.metric.Name, "the analysis ends")
	running := m.running()
	running.Phase, running.Message = v1alpha1.AnalysisPhaseInconclusive, "Metric Terminated"
	running.FinishedAt, running.ResumeAt = p.moment(p.Now), nil
	m.result.Phase, _ = m.assess(true)
}

// stopAll ends what is under way of metrics that cannot be read.
func (p *pass) stopAll() {
	for i := range p.Run.Spec.Metrics {
		if p.Run.Spec.Metrics[i].Name == "" { // it could not be decoded, and has no results
			continue
		}
		m := &state{metric: &p.Run.Spec.Metrics[i], result: p.result(p.Run.Spec.Metrics[i].Name)}
		if !ended(m.result.Phase) && m.running() != nil {
			p.stop(m)
		}
	}
}

// retain keeps the newest measurements of each metric, as many as fit into the status.
func (p *pass) retain() {
	for _, m := range p.metrics {
		for len(m.result.Measurements) > m.limits.kept {
			p.forgetOldest(m)
		}
	}
	for excess := p.keptBytes() - mostKeptBytes; excess > 0; {
		longest := slices.MaxFunc(p.metrics, func(a, b *state) int {
			return cmp.Compare(len(a.result.Measurements), len(b.result.Measurements))
		})
		if len(longest.result.Measurements) <= 1 {
			return // the last one says when the next is due
		}
		excess -= measurementBytes(&longest.result.Measurements[0])
		p.forgetOldest(longest)
	}
}

func (p *pass) forgetOldest(m *state) {
	t := p.bare(m)
	t.Begun, t.Number = m.result.Measurements[0].DeepCopy(), m.numberOf(0)
	p.plan.Forget = append(p.plan.Forget, t)
	m.result.Measurements = m.result.Measurements[1:]
}

// keptBytes is about how much the measurements of all metrics take in the status.
func (p *pass) keptBytes() (bytes int) {
	for _, m := range p.metrics {
		for i := range m.result.Measurements {
			bytes += measurementBytes(&m.result.Measurements[i])
		}
	}
	return bytes
}

// measurementBytes is about how much a measurement takes as JSON: what it says, and its phase, times and the names of its fields.
func measurementBytes(m *v1alpha1.Measurement) int {
	const fields = 200
	bytes := fields + len(m.Value) + len(m.Message)
	for key, value := range m.Metadata {
		bytes += len(key) + len(value)
	}
	return bytes
}

// numberOf is the number of a measurement in the list, whose last one has the highest number.
func (m *state) numberOf(i int) int {
	newest := m.made()
	if m.running() != nil {
		newest++
	}
	return newest - len(m.result.Measurements) + 1 + i
}

// expire deletes the run when it has been over for as long as it is kept.
func (p *pass) expire() {
	ttl := p.ttl()
	if len(p.Run.Unreadable.Of("spec.ttlStrategy")) > 0 { // what can be read of it may not be what is meant
		return
	}
	if ttl == nil || p.is.Status.CompletedAt == nil {
		return
	}
	at := p.is.Status.CompletedAt.Add(time.Duration(*ttl) * time.Second)
	if at.After(p.Now) {
		p.plan.WakeAt(at)
		return
	}
	p.plan.Delete = "ttlStrategy: its time is over"
	p.note("delete the analysis", p.plan.Delete)
}

func (p *pass) ttl() *int32 {
	s := p.Run.Spec.TTLStrategy
	switch {
	case s == nil:
		return nil
	case p.is.Status.Phase == v1alpha1.AnalysisPhaseSuccessful && s.SecondsAfterSuccess != nil:
		return s.SecondsAfterSuccess
	case p.is.Status.Phase == v1alpha1.AnalysisPhaseFailed && s.SecondsAfterFailure != nil:
		return s.SecondsAfterFailure
	}
	return s.SecondsAfterCompletion
}
