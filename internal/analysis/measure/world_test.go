package measure_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/analysis/measure"
)

var zero = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// world is an AnalysisRun, and a world in which measurements come out as the script says.
type world struct {
	out     strings.Builder
	now     time.Time
	run     *v1alpha1.AnalysisRun
	looked  measure.Arguments
	values  map[string][]string
	takes   map[string]time.Duration
	flights []flight
	results []landed
	wake    time.Time
	passes  int
	// crashAt is the pass before which the controller dies; 0 for none.
	crashAt int
}

type flight struct {
	landed
	lands time.Time
}

// landed is a result, and the word of the script that it comes from, if that was used up.
type landed struct {
	measure.Result
	script string
}

func (s *world) say(format string, args ...any) {
	at := strings.Replace(s.now.Sub(zero).String(), "m0s", "m", 1)
	text := strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " ")
	verb, rest, _ := strings.Cut(text, " ")
	fmt.Fprintf(&s.out, "%-7s %-7s %s\n", strings.Replace(at, "h0m", "h", 1), verb, rest)
}

// advance lets time pass until t, with a pass whenever something is due or a measurement lands.
func (s *world) advance(t time.Time) {
	if s.run.Status.Phase == "" {
		s.pass()
	}
	for {
		next := t
		for _, f := range s.flights {
			next = earlier(next, f.lands)
		}
		if !s.wake.IsZero() {
			next = earlier(next, s.wake)
		}
		s.now = next
		news := s.land()
		due := !s.wake.IsZero() && !s.wake.After(s.now)
		if !news && !due {
			return
		}
		s.pass()
	}
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// land moves measurements that are done to the results.
func (s *world) land() (any bool) {
	s.flights = slices.DeleteFunc(s.flights, func(f flight) bool {
		if f.lands.After(s.now) {
			return false
		}
		f.FinishedAt = s.now
		f.Result = measure.Judge(context.Background(), f.Result)
		s.results = append(s.results, f.landed)
		any = true
		return true
	})
	return any
}

// pass asks the engine, and does what it says.
func (s *world) pass() {
	for again := true; again; {
		if s.passes++; s.passes > 10_000 {
			panic("it never comes to rest")
		}
		if s.passes == s.crashAt {
			s.crash()
		}
		seen := measure.Observed{Now: s.now, Run: s.run, Providers: []string{"job", "web"}}
		for _, l := range s.results {
			seen.Results = append(seen.Results, l.Result)
		}
		for _, f := range s.flights {
			seen.Busy = append(seen.Busy, f.Metric.Name)
		}
		plan := s.decide(seen)
		again = s.apply(plan)
	}
}

// crash loses what is under way, and what came back and was not recorded. Measured again it is the same.
func (s *world) crash() {
	for _, f := range s.flights {
		s.results = append(s.results, f.landed)
	}
	for _, lost := range slices.Backward(s.results) {
		if name := lost.Metric.Name; len(s.values[name]) > 0 && lost.script != "" {
			s.values[name] = append([]string{lost.script}, s.values[name]...)
		}
	}
	s.flights, s.results = nil, nil
}

func (s *world) decide(seen measure.Observed) measure.Plan {
	before := seen.Run.DeepCopy()
	plan := measure.Next(seen)
	if plan.NeedsArguments {
		if !reflect.DeepEqual(plan, measure.Plan{NeedsArguments: true}) {
			panic(fmt.Sprintf("something is decided before the arguments are known: %+v", plan))
		}
		seen.Arguments = &s.looked
		plan = measure.Next(seen)
	}
	if !equality.Semantic.DeepEqual(before, seen.Run) {
		panic("the engine changed what it was given")
	}
	return plan
}

// apply carries a plan out. It reports whether to look again at once: what was measured in no time has landed.
func (s *world) apply(p measure.Plan) bool {
	for _, name := range p.Cancel {
		s.say("cancel  %s", name)
		for i := range s.flights {
			if s.flights[i].Metric.Name == name {
				s.flights[i].Canceled, s.flights[i].lands = true, s.now
			}
		}
	}
	for _, n := range p.Notes {
		s.say("note    %s: %s", n.Text, n.Reason)
	}
	for _, t := range p.Stop {
		s.say("stop    %s %s", t.Metric.Name, t.Begun.Metadata["job"])
	}
	for _, t := range p.Forget {
		s.say("forget  %s %s", t.Metric.Name, cmp.Or(t.Begun.Metadata["job"], t.Begun.Value))
	}
	if p.Record != nil {
		s.tell(s.run.Status, p.Record.To.Status)
		s.run, s.results = p.Record.To, nil
	}
	s.results = nil
	for _, e := range p.Events {
		kind := ""
		if e.Warning {
			kind = " (warning)"
		}
		s.say("event   %s%s: %s", e.Reason, kind, e.Message)
	}
	for _, t := range p.Measure {
		s.begin(t)
	}
	if p.Delete != "" {
		s.say("delete  %s", p.Delete)
		p.Wake = time.Time{}
	}
	s.wake = p.Wake
	if s.run.Status.CompletedAt == nil && p.Wake.IsZero() && len(s.flights) == 0 {
		panic("nothing would ever happen again")
	}
	for _, r := range s.run.Status.MetricResults {
		if r.Count != r.Successful+r.Failed+r.Inconclusive {
			panic(fmt.Sprintf("the counts of %s do not add up: %+v", r.Name, r))
		}
	}
	return s.land()
}

// tell says what is new in the status.
func (s *world) tell(was, is v1alpha1.AnalysisRunStatus) {
	for _, r := range is.MetricResults {
		var before v1alpha1.MetricResult
		for _, b := range was.MetricResults {
			if b.Name == r.Name {
				before = b
			}
		}
		if n := len(r.Measurements); n > 0 && (before.Count+before.Error != r.Count+r.Error || r.Measurements[n-1].Phase == v1alpha1.AnalysisPhaseRunning) {
			m := r.Measurements[n-1]
			s.say("value   %s %s %s %s", r.Name, m.Phase, m.Value, m.Message)
		}
		if before.Phase != r.Phase {
			s.say("metric  %s %s %s", r.Name, r.Phase, r.Message)
		}
	}
	if was.Phase != is.Phase {
		s.say("run     %s %s", is.Phase, is.Message)
	}
}

// begin begins a measurement, or goes on with one.
func (s *world) begin(t measure.Task) {
	f := flight{landed: landed{Result: measure.Result{Task: t, StartedAt: s.now}}, lands: s.now.Add(s.takes[t.Metric.Name])}
	verb := "measure"
	if t.Begun != nil {
		verb = "resume "
	}
	if url := t.Metric.Provider.Web.URL; url != "http://test/"+t.Metric.Name {
		s.say("%s %s #%d %s", verb, t.Metric.Name, t.Number, url)
	} else if s.takes[t.Metric.Name] > 0 {
		s.say("%s %s #%d", verb, t.Metric.Name, t.Number)
	}
	name := t.Metric.Name
	text := "1"
	if values := s.values[name]; len(values) > 0 {
		text = values[0]
		if len(values) > 1 {
			s.values[name], f.script = values[1:], text
		}
	}
	r := &f.Reading
	r.Question = "GET " + t.Metric.Provider.Web.URL
	verdict, isVerdict := strings.CutPrefix(text, "verdict:")
	switch message, isError := strings.CutPrefix(text, "error:"); {
	case isError:
		f.Err = message
	case strings.HasPrefix(text, "running"):
		_, wait, _ := strings.Cut(text, ":")
		d, _ := time.ParseDuration(wait)
		r.Phase, r.ResumeAt, r.Message = v1alpha1.AnalysisPhaseRunning, s.now.Add(d), "the job runs"
		r.Metadata = map[string]string{"job": fmt.Sprintf("job-%d", t.Number)}
	case isVerdict:
		r.Phase = v1alpha1.AnalysisPhase(verdict)
	default:
		r.Text = text
		if json.Unmarshal([]byte(text), &r.Value) != nil {
			r.Value = text
		}
	}
	s.flights = append(s.flights, f)
}

// status shows the whole status.
func (s *world) status() {
	st := s.run.Status
	fmt.Fprintf(&s.out, "%s %s\n", st.Phase, st.Message)
	fmt.Fprintf(&s.out, "  %s\n", summaryText("counts", &st.RunSummary))
	if st.DryRunSummary != nil {
		fmt.Fprintf(&s.out, "  %s\n", summaryText("dry run", st.DryRunSummary))
	}
	for _, r := range st.MetricResults {
		fmt.Fprintf(&s.out, "  %s: %s %s\n", r.Name, r.Phase, r.Message)
		fmt.Fprintf(&s.out, "    count %d, successful %d, failed %d, inconclusive %d, error %d; in a row %d successful, %d errors; dry run %t\n",
			r.Count, r.Successful, r.Failed, r.Inconclusive, r.Error, r.ConsecutiveSuccess, r.ConsecutiveError, r.DryRun)
		for _, m := range r.Measurements {
			fmt.Fprintf(&s.out, "    %s %s", m.Phase, strings.TrimSpace(m.Value+" "+m.Message))
			if m.FinishedAt != nil {
				fmt.Fprintf(&s.out, " (%s-%s)", m.StartedAt.Sub(zero), m.FinishedAt.Sub(zero))
			}
			for _, key := range slices.Sorted(maps.Keys(m.Metadata)) {
				fmt.Fprintf(&s.out, " %s=%s", key, m.Metadata[key])
			}
			fmt.Fprintln(&s.out)
		}
	}
}

func summaryText(kind string, sum *v1alpha1.RunSummary) string {
	return fmt.Sprintf("%s: %d metrics, %d successful, %d failed, %d inconclusive, %d error",
		kind, sum.Count, sum.Successful, sum.Failed, sum.Inconclusive, sum.Error)
}
