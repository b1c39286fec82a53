package lint

import (
	"fmt"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/promql"
)

// checkQueries finds queries that are not valid PromQL. Other languages have no parser that is a library.
func (l *linter) checkQueries(o *object, metrics []v1alpha1.Metric) {
	for i := range metrics {
		for _, q := range queriesOf(&metrics[i]) {
			if err := promql.Check(q.text, q.use); err != nil {
				l.report(InvalidQuery, o, fmt.Sprintf("spec.metrics[%d].%s", i, q.field), "%s", err)
			}
		}
	}
}

// query is one in PromQL, and the field of the metric that it is in.
type query struct {
	field, text string
	use         promql.Use
}

func queriesOf(m *v1alpha1.Metric) []query {
	p := m.Provider.Prometheus
	if p == nil {
		return nil
	}
	var all []query
	if p.Query != "" {
		use := promql.Instant
		if p.RangeQuery != nil {
			use = promql.Range
		}
		all = append(all, query{"provider.prometheus.query", p.Query, use})
	}
	if m.Comparison == nil {
		return all
	}
	for i, s := range m.Comparison.Signals {
		field := fmt.Sprintf("comparison.signals[%d]", i)
		all = append(all, query{field + ".canary", s.Canary, promql.Range}, query{field + ".baseline", s.Baseline, promql.Range})
	}
	return all
}
