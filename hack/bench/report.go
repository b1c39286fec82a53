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
	reaction reaction
	idle     idle
}

// The marks between which a file is rewritten.
const (
	begin = "<!-- make bench -->"
	end   = "<!-- end of make bench -->"
)

// publish prints the report, and writes it into a file if there is one.
func (r report) publish(path string) error {
	var text bytes.Buffer
	r.write(&text)
	fmt.Print(text.String())
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
	return os.WriteFile(path, []byte(before+begin+"\n\n"+text.String()+"\n"+end+after), 0o644)
}

func (r report) write(w *bytes.Buffer) {
	fmt.Fprintf(w, "%d rollouts of %d pods, %s, %d cores, %s.\n\n", r.wishes.rollouts, r.wishes.replicas,
		time.Now().UTC().Format(time.DateOnly), runtime.NumCPU(), runtime.Version())
	r.writePhases(w)
	r.writeBudgets(w)
	r.writeRequests(w)
	fmt.Fprintf(w, "**Reaction**, on one rollout, %d times: from the moment when pods are available to the controller's next write, the median is %s ms and the worst %s ms.\n",
		r.reaction.samples, millis(r.reaction.median), millis(r.reaction.worst))
	if r.idle.rollouts > 0 {
		fmt.Fprintf(w, "\n**Idle**, %d rollouts: a controller that starts has looked at all of them after %.1f s (%.1f s of CPU) and holds %s MB. It writes %d times on a restart and %d times on a resync.\n",
			r.idle.rollouts, r.idle.caughtUp.Seconds(), r.idle.cpu.Seconds(), megabytes(r.idle.resident), r.idle.restart, r.idle.resync)
	}
}

func (r report) writePhases(w *bytes.Buffer) {
	fmt.Fprint(w, "Per rollout, but for the time and the memory:\n\n"+
		"| strategy | phase | wall s | CPU ms | passes | writes | of them events | reads | memory MB |\n|---|---|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, s := range r.results {
		for _, p := range []struct {
			name string
			phase
		}{{"create", s.create}, {"update", s.update}, {"rest", s.after}} {
			fmt.Fprintf(w, "| %s | %s | %.1f | %s | %s | %s | %s | %s | %s |\n", s.strategy.name, p.name, p.wall.Seconds(), r.perRolloutMillis(p.cpu),
				r.perRollout(p.passes),
				r.perRollout(p.requests.writes()), r.perRollout(p.requests.events()), r.perRollout(p.requests.reads()), megabytes(p.resident))
		}
	}
}

// writeBudgets holds the update and the rest after it against what they may cost.
func (r report) writeBudgets(w *bytes.Buffer) {
	fmt.Fprint(w, "\nThe update and the rest after it together, with the most that they may be:\n\n"+
		"| strategy | CPU ms | writes | without events | reads | writes in the last 20 s |\n|---|--:|--:|--:|--:|--:|\n")
	for _, s := range r.results {
		all := s.update.requests.add(s.after.requests)
		eventless := r.perRollout(all.writes() - all.events())
		if s.strategy.eventless > 0 {
			eventless += fmt.Sprintf(" (%d)", s.strategy.eventless)
		}
		fmt.Fprintf(w, "| %s: %s | %s (%d) | %s (%d) | %s | %s (%d) | %d (0) |\n", s.strategy.name, s.strategy.words,
			r.perRolloutMillis(s.update.cpu+s.after.cpu), s.strategy.cpuMillis, r.perRollout(all.writes()), s.strategy.writes, eventless,
			r.perRollout(all.reads()), s.strategy.reads, s.trailing)
	}
}

func (r report) writeRequests(w *bytes.Buffer) {
	kinds := requests{}
	for _, s := range r.results {
		kinds = kinds.add(s.update.requests).add(s.after.requests)
	}
	fmt.Fprint(w, "\nRequests for the update and the rest, per rollout:\n\n| request |")
	for _, s := range r.results {
		fmt.Fprintf(w, " %s |", s.strategy.name)
	}
	fmt.Fprint(w, "\n|---|"+strings.Repeat("--:|", len(r.results))+"\n")
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		fmt.Fprintf(w, "| %s |", kind)
		for _, s := range r.results {
			fmt.Fprintf(w, " %s |", r.perRollout(s.update.requests[kind]+s.after.requests[kind]))
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w)
}

func (r report) perRollout(n int) string {
	return fmt.Sprintf("%.1f", float64(n)/float64(r.wishes.rollouts))
}

func (r report) perRolloutMillis(d time.Duration) string {
	return fmt.Sprintf("%.1f", d.Seconds()*1000/float64(r.wishes.rollouts))
}

func millis(d time.Duration) string { return fmt.Sprintf("%.1f", d.Seconds()*1000) }
func megabytes(bytes int64) string  { return fmt.Sprintf("%.0f", float64(bytes)/1e6) }
