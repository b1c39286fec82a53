package measure

import (
	"fmt"
	"time"

	"github.com/sluice-delivery/sluice/internal/metric"
)

// afterError is how long after a measurement that could not be made the next is tried, whatever the interval.
const afterError = 10 * time.Second

// schedule begins what is due, and says when the rest is. It reports that arguments must be looked up first.
func (p *pass) schedule() (incomplete bool) {
	for _, m := range p.metrics {
		if ended(m.result.Phase) || p.busy(m) {
			continue
		}
		if at := p.due(m); at.After(p.Now) {
			p.plan.WakeAt(at)
			continue
		}
		task, missing, err := p.task(m)
		switch {
		case missing && p.Arguments == nil:
			return true
		case err != nil:
			p.fail(unresolved(fmt.Sprintf("metric %q: %s", m.metric.Name, err)))
			return false
		}
		p.plan.Measure = append(p.plan.Measure, task)
	}
	return false
}

// due is when a metric is measured next, or when a measurement in progress is checked.
func (p *pass) due(m *state) time.Time {
	last := m.last()
	switch {
	case last == nil:
		return p.is.Status.StartedAt.Add(m.limits.initialDelay)
	case m.running() != nil && last.ResumeAt != nil:
		return last.ResumeAt.Time
	case m.running() != nil:
		return p.Now
	case last.FinishedAt == nil: // written by another client
		return p.Now
	case m.result.ConsecutiveError > 0:
		return last.FinishedAt.Add(afterError)
	}
	return last.FinishedAt.Add(m.limits.interval)
}

// task is a measurement of a metric with its arguments filled in: a new one, or the one that is under way.
func (p *pass) task(m *state) (t Task, missing bool, err error) {
	filled := *m.metric.DeepCopy()
	if missing, err := p.arguments.fill(&filled); missing || err != nil {
		return Task{}, missing, err
	}
	filled.Name = m.metric.Name
	t = p.bare(m)
	t.Metric, t.Secrets = filled, p.arguments.secrets
	return t, false, nil
}

// bare is a task that needs no arguments.
func (p *pass) bare(m *state) Task {
	return Task{Request: metric.Request{
		Run:    metric.Run{Namespace: p.Run.Namespace, Name: p.Run.Name, UID: p.Run.UID, StartedAt: p.is.Status.StartedAt.Time, Object: p.Run, Kept: m.limits.kept},
		Metric: *m.metric,
		Number: m.made() + 1,
		Begun:  m.running().DeepCopy(),
	}}
}
