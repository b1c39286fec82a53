package measure

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/metric"
)

// arguments are the values of a run's arguments, as far as they are known.
type arguments struct {
	values map[string]string
	// elsewhere are the names of those that have to be looked up.
	elsewhere []string
	secrets   Secrets
	problem   string
}

func (p *pass) resolveArguments() arguments {
	a := arguments{values: map[string]string{}}
	for _, arg := range p.Run.Spec.Args {
		from := arg.ValueFrom
		switch {
		case arg.Value != nil:
			a.values[arg.Name] = *arg.Value
		case from == nil:
			a.problem = fmt.Sprintf("args.%s was not resolved: give it a value", arg.Name)
		case from.SecretKeyRef != nil, from.ConfigMapKeyRef != nil:
			a.elsewhere = append(a.elsewhere, arg.Name)
		default:
			a.problem = fmt.Sprintf("args.%s was not resolved: a fieldRef is for templates that a Rollout uses; give it a value", arg.Name)
		}
	}
	if looked := p.Arguments; looked != nil {
		for name, value := range looked.Values {
			a.values[name] = value
			if slices.Contains(looked.Hidden, name) {
				a.secrets = append(a.secrets, value)
			}
		}
		if looked.Problem != "" {
			a.problem = looked.Problem
		}
	}
	return a
}

// placeholder is what stands in a metric for the value of an argument. What else is written in double braces is refused.
var placeholder = regexp.MustCompile(`\{\{(.*?)\}\}`)

// maxFilled is how many bytes a metric may have when its placeholders are filled in: as much as an object may have. A long argument may be
// used many times.
const maxFilled = 1 << 20

// fill replaces all placeholders in a metric. It returns that a value is missing which can be looked up, or what is wrong.
func (a arguments) fill(metric *v1alpha1.Metric) (missing bool, err error) {
	text, err := json.Marshal(metric)
	if err != nil {
		return false, err
	}
	length := len(text)
	filled := placeholder.ReplaceAllFunc(text, func(found []byte) []byte {
		if err != nil {
			return found
		}
		name, ok := strings.CutPrefix(strings.TrimSpace(string(found[2:len(found)-2])), "args.")
		if !ok {
			err = fmt.Errorf("%s is nothing that can be filled in: write {{args.<name>}}", found)
			return found
		}
		value, known := a.values[name]
		switch {
		case known:
		case slices.Contains(a.elsewhere, name):
			missing = true
		default:
			err = fmt.Errorf("args.%s was not resolved: there is no argument of that name", name)
		}
		filling := escape(value)
		if length += len(filling); length > maxFilled {
			err = fmt.Errorf("with its arguments filled in it is longer than %d bytes: use shorter arguments, or fewer times", maxFilled)
			return found
		}
		return filling
	})
	if err != nil || missing {
		return missing, err
	}
	var out v1alpha1.Metric
	if err := json.Unmarshal(filled, &out); err != nil {
		return false, fmt.Errorf("with its arguments filled in, the metric is invalid: %w", err)
	}
	*metric = out
	return false, nil
}

// escape is a value inside a text of JSON.
func escape(value string) []byte {
	quoted, err := json.Marshal(value)
	if err != nil {
		panic(err) // a text can always be written
	}
	return quoted[1 : len(quoted)-1]
}

// fillLimits replaces the placeholders in what decides when a metric is measured and when it ends.
func (a arguments) fillLimits(metric *v1alpha1.Metric) (missing bool, err error) {
	limits := v1alpha1.Metric{
		Interval: metric.Interval, InitialDelay: metric.InitialDelay, Count: metric.Count, FailureLimit: metric.FailureLimit,
		InconclusiveLimit: metric.InconclusiveLimit, ConsecutiveErrorLimit: metric.ConsecutiveErrorLimit,
		ConsecutiveSuccessLimit: metric.ConsecutiveSuccessLimit,
	}
	if missing, err := a.fill(&limits); missing || err != nil {
		return missing, err
	}
	metric.Interval, metric.InitialDelay, metric.Count = limits.Interval, limits.InitialDelay, limits.Count
	metric.FailureLimit, metric.InconclusiveLimit = limits.FailureLimit, limits.InconclusiveLimit
	metric.ConsecutiveErrorLimit, metric.ConsecutiveSuccessLimit = limits.ConsecutiveErrorLimit, limits.ConsecutiveSuccessLimit
	return false, nil
}

// Secrets are values that must not be shown.
type Secrets = metric.Secrets

func hideAll(s Secrets, texts map[string]string) map[string]string {
	if len(texts) == 0 {
		return nil
	}
	out := make(map[string]string, len(texts))
	for key, text := range texts {
		out[key] = short(s.Hide(text))
	}
	return out
}
