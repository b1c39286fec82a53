package play

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// problemsOf is an error that lists all problems, one per line; nil if there are none.
func problemsOf(problems []string) error {
	errs := make([]error, len(problems))
	for i, p := range problems {
		errs[i] = errors.New(p)
	}
	return errors.Join(errs...)
}

// check finds events that are about something which is not there: who mistypes a name would otherwise see nothing happen.
func (s Stage) check() error {
	var problems []string
	for _, e := range s.Scenario {
		if err := s.checkEvent(e); err != nil {
			problems = append(problems, fmt.Sprintf("%s: %s", e.Line, err))
		}
	}
	return problemsOf(problems)
}

func (s Stage) checkEvent(e Event) error {
	if e.At >= longest {
		return fmt.Errorf("at %s nothing is played any more: the story ends after 14 days", e.At)
	}
	if name, ok := e.metric(); ok {
		return s.checkMetric(e.Verb, name)
	}
	switch e.Verb {
	case "image":
		container, _, _ := strings.Cut(e.Args[0], "=")
		var names []string
		for _, c := range s.template().Spec.Containers {
			names = append(names, c.Name)
		}
		if container != "*" && !slices.Contains(names, container) {
			return fmt.Errorf("there is no container %q: %s", container, meant(container, names))
		}
	case "delete", "restore":
		var names []string
		for _, service := range s.Services {
			names = append(names, service.Name)
		}
		if name := e.Args[1]; !slices.Contains(names, name) {
			return fmt.Errorf("there is no Service %q: %s", name, meant(name, names))
		}
	case "load":
		if s.Autoscaler == nil {
			return fmt.Errorf("%q is for a HorizontalPodAutoscaler, and %s, or write \"scale %d\"",
				e, cmp.Or(s.NoAutoscaler, "there is none of this Rollout"), e.number())
		}
	}
	return nil
}

func (s Stage) checkMetric(verb, name string) error {
	metrics := s.metrics()
	m, ok := metrics[name]
	switch {
	case !ok:
		var names []string
		for name := range metrics {
			names = append(names, name)
		}
		slices.Sort(names)
		return fmt.Errorf("there is no metric %q: %s", name, meant(name, names))
	case m.Provider.Job != nil && (verb == "value" || verb == "nodata"):
		return fmt.Errorf("metric %q is a Job, which has no value: write pass, fail or error", name)
	}
	return nil
}

// metrics are those of all templates, by their names.
func (s Stage) metrics() map[string]*v1alpha1.Metric {
	all := map[string]*v1alpha1.Metric{}
	for _, t := range s.Templates {
		for i := range t.Metrics {
			all[t.Metrics[i].Name] = &t.Metrics[i]
		}
	}
	return all
}
