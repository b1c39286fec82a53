//go:build linux

package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

// report is all that was measured.
type report struct {
	wishes   wishes
	results  []result
	reaction timings
	handOver timings
	idle     idle
	hostile  hostile
	plugins  slowPlugins
	analyses analyses
	// yardstick is what the machine needed for the same work after each part.
	yardstick []time.Duration
}

// The marks between which a file is rewritten.
const (
	begin = "<!-- make bench -->"
	end   = "<!-- end of make bench -->"
)

// save writes the report between the marks of a file, if there is one.
func (r report) save(path string) error {
	if path == "" {
		return nil
	}
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, ok1 := strings.Cut(string(old), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok1 || !ok2 {
		return fmt.Errorf("%s has no lines %s and %s to write between", path, begin, end)
	}
	return os.WriteFile(path, []byte(before+begin+"\n\n"+r.String()+"\n"+end+after), 0o644)
}

// String is the report in Markdown, as far as it was measured.
func (r report) String() string {
	var w bytes.Buffer
	fmt.Fprintf(&w, "%s, %d cores, %s. The yardstick took between %s and %s ms.\n\n", time.Now().UTC().Format(time.DateOnly), runtime.NumCPU(),
		runtime.Version(), millis(slices.Min(r.yardstick)), millis(slices.Max(r.yardstick)))
	r.writePhases(&w)
	r.writeBudgets(&w)
	r.writeRequests(&w)
	r.writeLoad(&w)
	r.writeRest(&w)
	return w.String()
}

// writeRest tells what is not measured for each strategy.
func (r report) writeRest(w *bytes.Buffer) {
	for _, s := range r.results {
		if s.rollouts == r.wishes.many {
			most := max(s.create.resident, s.update.resident, s.after.resident)
			fmt.Fprintf(w, "**Memory** with %d rollouts: %s MB (60), of which %s MB are the program itself.\n\n", s.rollouts, megabytes(most), megabytes(s.program))
		}
	}
	if r.reaction.samples > 0 {
		fmt.Fprintf(w, "**Reaction**, on one rollout, %d times: from the moment when pods are available to the controller's next write, the median is %s ms (50) and the worst %s ms.\n\n",
			r.reaction.samples, millis(r.reaction.median), millis(r.reaction.worst))
	}
	if r.handOver.samples > 0 {
		fmt.Fprintf(w, "**Hand-over**, %d times: from the moment when the leader is told to stop to the standby's first write, the median is %.2f s and the worst %.2f s (2).\n\n",
			r.handOver.samples, r.handOver.median.Seconds(), r.handOver.worst.Seconds())
	}
	if r.idle.rollouts > 0 {
		fmt.Fprintf(w, "**Idle**, %d rollouts: a controller that starts has looked at all of them after %.1f s (%.1f s of CPU) and holds %s MB. It writes %d times on a restart (0) and %d times on a resync (0).\n",
			r.idle.rollouts, r.idle.caughtUp.Seconds(), r.idle.cpu.Seconds(), megabytes(r.idle.resident), r.idle.restart, r.idle.resync)
	}
	if a := r.analyses; a.runs > 0 && a.measured > 0 {
		fmt.Fprintf(w, "\n**Analyses**, %d AnalysisRuns that each measure every %s, for %s: of %d measurements, the median is %s ms late, the 99th percentile %s ms (1000), and the worst %s ms. "+
			"The controller needs %.1f s of CPU, and holds at most %s MB and %d goroutines in the first half of this time, %s MB and %d in the second.\n",
			a.runs, analysisInterval, analysisTime, a.measured, millis(a.late.median), millis(a.late.p99), millis(a.late.worst),
			a.cpu.Seconds(), megabytes(a.first.resident), a.first.goroutines, megabytes(a.last.resident), a.last.goroutines)
	}
	if p := r.plugins; p.beside.samples > 0 {
		fmt.Fprintf(w, "\n**A slow plugin**: an update of %d rollouts through nine steps takes a median of %.2f s beside as many others whose step plugin has been asked and does not answer, "+
			"and %.2f s alone: %.2f times as long (1.10), in %d updates each.\n",
			p.rollouts, p.beside.median.Seconds(), p.alone.median.Seconds(), p.beside.median.Seconds()/p.alone.median.Seconds(), p.beside.samples)
	}
	if h := r.hostile; h.beside.samples > 0 {
		fmt.Fprintf(w, "\n**A hostile tenant** with %d objects: the reaction on another tenant's rollout has a median of %s ms and a 99th percentile of %s ms (250) in %d samples; "+
			"alone, a median of %s ms and at worst %s ms. Meanwhile %d of the tenant's measurements are in flight, and the controller needs %.1f s of CPU and holds %s MB. The part took %.0f s.\n",
			h.objects, millis(h.beside.median), millis(h.beside.p99), h.beside.samples, millis(h.alone.median), millis(h.alone.worst),
			h.inFlight, h.cpu.Seconds(), megabytes(h.resident), h.took.Seconds())
	}
}

func (r report) writePhases(w *bytes.Buffer) {
	fmt.Fprint(w, "Per rollout, but for the time and the memory:\n\n"+
		"| rollouts | strategy | phase | wall s | CPU ms | passes | writes | of them events | reads | memory MB |\n|--:|---|---|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, s := range r.results {
		for _, p := range []struct {
			name string
			phase
		}{{"create", s.create}, {"update", s.update}, {"rest", s.after}} {
			fmt.Fprintf(w, "| %d | %s | %s | %.1f | %s | %s | %s | %s | %s | %s |\n", s.rollouts, s.strategy.name, p.name, p.wall.Seconds(), s.perRolloutMillis(p.cpu),
				s.perRollout(p.passes),
				s.perRollout(p.requests.writes()), s.perRollout(p.requests.events()), s.perRollout(p.requests.reads()), megabytes(p.resident))
		}
	}
}

// writeBudgets holds the update and the rest after it against what they may cost.
func (r report) writeBudgets(w *bytes.Buffer) {
	fmt.Fprint(w, "\nThe update and the rest after it together, with the most that they may be, and the update's time:\n\n"+
		"| strategy | wall s | CPU ms | writes | without events | reads | writes in the last 20 s |\n|---|--:|--:|--:|--:|--:|--:|\n")
	for _, s := range r.ofAll() {
		all := s.update.requests.add(s.after.requests)
		eventless := s.perRollout(all.writes() - all.events())
		if s.strategy.eventless > 0 {
			eventless += fmt.Sprintf(" (%d)", s.strategy.eventless)
		}
		wall := fmt.Sprintf("%.1f", s.update.wall.Seconds())
		if s.strategy.seconds > 0 {
			wall += fmt.Sprintf(" (%d)", s.strategy.seconds)
		}
		fmt.Fprintf(w, "| %s: %s | %s | %s (%d) | %s (%d) | %s | %s (%d) | %d (0) |\n", s.strategy.name, s.strategy.words, wall,
			s.perRolloutMillis(s.update.cpu+s.after.cpu), s.strategy.cpuMillis, s.perRollout(all.writes()), s.strategy.writes, eventless,
			s.perRollout(all.reads()), s.strategy.reads, s.trailing)
	}
}

func (r report) writeRequests(w *bytes.Buffer) {
	kinds := requests{}
	results := r.ofAll()
	for _, s := range results {
		kinds = kinds.add(s.update.requests).add(s.after.requests)
	}
	fmt.Fprint(w, "\nRequests for the update and the rest, per rollout:\n\n| request |")
	for _, s := range results {
		fmt.Fprintf(w, " %s |", s.strategy.name)
	}
	fmt.Fprint(w, "\n|---|"+strings.Repeat("--:|", len(results))+"\n")
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		fmt.Fprintf(w, "| %s |", kind)
		for _, s := range results {
			fmt.Fprintf(w, " %s |", s.perRollout(s.update.requests[kind]+s.after.requests[kind]))
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w)
}

// writeLoad tells what the time of the update goes into, and how long the playground would be busy with it if the controller cost nothing.
func (r report) writeLoad(w *bytes.Buffer) {
	cores := runtime.NumCPU()
	fmt.Fprintf(w, "What keeps %d cores busy during the update, per rollout; and, at the same cost of a request, how long the requests of others alone would:\n\n"+
		"| strategy | CPU ms of the controller | of the playground | requests of the controller | of others | wall s | others alone, s |\n|---|--:|--:|--:|--:|--:|--:|\n", cores)
	for _, s := range r.ofAll() {
		u := s.update
		own := u.requests.writes() + u.requests.reads()
		alone := u.playground.Seconds() * float64(u.others) / float64(max(own+u.others, 1)) / float64(cores)
		fmt.Fprintf(w, "| %s | %s | %s | %s | %s | %.1f | %.1f |\n", s.strategy.name, s.perRolloutMillis(u.cpu), s.perRolloutMillis(u.playground),
			s.perRollout(own), s.perRollout(u.others), u.wall.Seconds(), alone)
	}
	fmt.Fprintln(w)
}

// ofAll are the results of the size at which all strategies are measured.
func (r report) ofAll() []result {
	return slices.DeleteFunc(slices.Clone(r.results), func(s result) bool { return s.rollouts != r.wishes.rollouts })
}

func (r result) perRollout(n int) string {
	return fmt.Sprintf("%.1f", float64(n)/float64(r.rollouts))
}

func (r result) perRolloutMillis(d time.Duration) string {
	return fmt.Sprintf("%.1f", d.Seconds()*1000/float64(r.rollouts))
}

func millis(d time.Duration) string { return fmt.Sprintf("%.1f", d.Seconds()*1000) }
func megabytes(bytes int64) string  { return fmt.Sprintf("%.0f", float64(bytes)/1e6) }
