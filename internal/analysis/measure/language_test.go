package measure_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/analysis/measure"
)

// fields cuts a line at its spaces, but not inside single quotes, which are left out.
func fields(line string) []string {
	var words []string
	word, quoted := "", false
	for _, c := range line + " " {
		switch {
		case c == '\'':
			quoted = !quoted
		case c == ' ' && !quoted:
			if word != "" {
				words = append(words, word)
			}
			word = ""
		default:
			word += string(c)
		}
	}
	return words
}

func (s *world) line(line string) error {
	words := fields(line)
	if len(words) == 0 {
		return nil
	}
	args := words[1:]
	switch words[0] {
	case "run":
		out, crashAt := s.out, s.crashAt
		*s = world{
			crashAt: crashAt, out: out, now: zero, run: &v1alpha1.AnalysisRun{}, values: map[string][]string{}, takes: map[string]time.Duration{},
			looked: measure.Arguments{Values: map[string]string{}},
		}
		s.run.Name, s.run.UID = "run", "u-1"
	case "metric":
		return s.metric(args[0], args[1:])
	case "arg", "secret", "configmap":
		return s.argument(words[0], args)
	case "ttl":
		return s.ttl(args)
	case "lost":
		s.looked.Problem = strings.Join(args, " ")
	case "value":
		s.values[args[0]] = args[1:]
	case "takes":
		d, err := time.ParseDuration(args[1])
		s.takes[args[0]] = d
		return err
	case "terminate":
		s.run = s.run.DeepCopy()
		s.run.Spec.Terminate = true
		s.pass()
	case "crash":
		s.crash()
		s.pass()
	case "advance":
		d, err := time.ParseDuration(args[0])
		s.advance(s.now.Add(d))
		return err
	case "status":
		s.status()
	default:
		return errors.New("no such verb")
	}
	return nil
}

func (s *world) argument(kind string, args []string) error {
	for _, arg := range args {
		name, value, given := strings.Cut(arg, "=")
		a := v1alpha1.Argument{Name: name}
		switch {
		case kind == "secret":
			a.ValueFrom = &v1alpha1.ValueFrom{SecretKeyRef: &v1alpha1.SecretKeyRef{Name: "s", Key: name}}
			s.looked.Values[name], s.looked.Hidden = value, append(s.looked.Hidden, name)
		case kind == "configmap":
			a.ValueFrom = &v1alpha1.ValueFrom{ConfigMapKeyRef: &v1alpha1.ConfigMapKeyRef{Name: "c", Key: name}}
			s.looked.Values[name] = value
		case given:
			a.Value = &value
		}
		s.run.Spec.Args = append(s.run.Spec.Args, a)
	}
	return nil
}

func (s *world) ttl(args []string) error {
	s.run.Spec.TTLStrategy = &v1alpha1.TTLStrategy{}
	for _, arg := range args {
		key, value, _ := strings.Cut(arg, "=")
		n, err := strconv.ParseInt(value, 10, 32)
		if err != nil {
			return err
		}
		switch key {
		case "completion":
			s.run.Spec.TTLStrategy.SecondsAfterCompletion = new(int32(n))
		case "failure":
			s.run.Spec.TTLStrategy.SecondsAfterFailure = new(int32(n))
		case "success":
			s.run.Spec.TTLStrategy.SecondsAfterSuccess = new(int32(n))
		}
	}
	return nil
}

func (s *world) metric(name string, args []string) error {
	m := v1alpha1.Metric{Name: name, Provider: v1alpha1.MetricProvider{Web: &v1alpha1.WebMetric{URL: "http://test/" + name}}}
	for _, arg := range args {
		key, value, _ := strings.Cut(arg, "=")
		switch key {
		case "interval":
			m.Interval = v1alpha1.DurationString(value)
		case "delay":
			m.InitialDelay = v1alpha1.DurationString(value)
		case "count":
			m.Count = new(intstr.Parse(value))
		case "failures":
			m.FailureLimit = new(intstr.Parse(value))
		case "inconclusives":
			m.InconclusiveLimit = new(intstr.Parse(value))
		case "errors":
			m.ConsecutiveErrorLimit = new(intstr.Parse(value))
		case "successes":
			m.ConsecutiveSuccessLimit = new(intstr.Parse(value))
		case "success":
			m.SuccessCondition = value
		case "failure":
			m.FailureCondition = value
		case "nodata":
			m.WhenNoData = v1alpha1.AnalysisPhase(value)
		case "url":
			m.Provider.Web.URL = value
		case "dry":
			s.run.Spec.DryRun = append(s.run.Spec.DryRun, v1alpha1.DryRun{MetricName: "^" + name + "$"})
		case "keep":
			n, err := strconv.ParseInt(value, 10, 32)
			if err != nil {
				return err
			}
			s.run.Spec.MeasurementRetention = append(s.run.Spec.MeasurementRetention, v1alpha1.MeasurementRetention{MetricName: name, Limit: int32(n)})
		case "without-provider":
			m.Provider = v1alpha1.MetricProvider{}
		case "datadog":
			m.Provider = v1alpha1.MetricProvider{Datadog: &v1alpha1.DatadogMetric{Query: value}}
		default:
			return fmt.Errorf("a metric has no %s", key)
		}
	}
	s.run.Spec.Metrics = append(s.run.Spec.Metrics, m)
	return nil
}
