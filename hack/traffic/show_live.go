//go:build linux

package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/cli/live"
)

// bars are an eighth to eight eighths of a line.
var bars = []rune(" ▁▂▃▄▅▆▇█")

const (
	up           = "\x1b[%dA\r"
	eraseToRight = "\x1b[K"
	red          = "\x1b[31m"
	bold         = "\x1b[1m"
	plain        = "\x1b[0m"
)

// judgment is what is known of the update at a moment: the Rollout, and the value of its newest measurement.
type judgment struct {
	rollout *v1alpha1.Rollout
	value   string
}

// watch shows the update until ctx ends: one picture on a terminal, elsewhere a line for each change.
func (d *demo) watch(ctx context.Context, out *os.File) {
	screen := live.NewScreen(out, false)
	lines, last := 0, ""
	for ctx.Err() == nil {
		j := d.look(ctx)
		switch {
		case j.rollout == nil:
		case screen.Terminal():
			columns, _ := screen.Size()
			picture := d.picture(j, columns, screen.Colors)
			if lines > 0 {
				_, _ = fmt.Fprintf(out, up, lines) // a terminal that is gone needs no picture
			}
			_, _ = io.WriteString(out, strings.ReplaceAll(picture, "\n", eraseToRight+"\n"))
			lines = strings.Count(picture, "\n")
		default:
			if line := state(j); line != last {
				last = line
				_, _ = fmt.Fprintf(out, "%5.1f s  %s; %s\n", time.Since(d.began).Seconds(), line, d.counts())
			}
		}
		_ = sleep(ctx, 5*interval) // the loop sees that it is over
	}
}

// look reads the Rollout, and the newest measurement of its running analysis. What cannot be read now can be the next time.
func (d *demo) look(ctx context.Context) judgment {
	ro, err := d.arena.rollout(ctx)
	if err != nil {
		return judgment{}
	}
	j := judgment{rollout: ro}
	run := ro.Status.Canary.CurrentBackgroundAnalysisRunStatus
	if run == nil {
		return j
	}
	var ar v1alpha1.AnalysisRun
	if err := d.arena.client.Get(ctx, client.ObjectKey{Namespace: ro.Namespace, Name: run.Name}, &ar); err != nil {
		return j
	}
	for _, metric := range ar.Status.MetricResults {
		if n := len(metric.Measurements); n > 0 {
			value := cmp.Or(strings.Trim(metric.Measurements[n-1].Value, "[]"), "without data")
			j.value = fmt.Sprintf("error rate %s: %s", value, metric.Measurements[n-1].Phase)
		}
	}
	return j
}

func tagOf(ro *v1alpha1.Rollout) string {
	_, tag, _ := strings.Cut(ro.Spec.Template.Spec.Containers[0].Image, ":")
	return tag
}

func weightOf(ro *v1alpha1.Rollout) int32 {
	if ro.Status.Canary.Weights == nil {
		return 0
	}
	return ro.Status.Canary.Weights.Canary.Weight
}

// state is the Rollout's in a line.
func state(j judgment) string {
	phase := j.rollout.Status.Phase
	if j.rollout.Status.ObservedGeneration != fmt.Sprint(j.rollout.Generation) {
		phase = v1alpha1.RolloutPhaseProgressing // the controller has not seen the new spec yet
	}
	return fmt.Sprintf("%s %s, weight %d %%", tagOf(j.rollout), phase, weightOf(j.rollout))
}

func (d *demo) counts() string {
	total := d.ledger.Total()
	return fmt.Sprintf("%d requests, %d lost, %d errors", total.Sum(), total.Lost, total.Bad)
}

// picture is the update so far: who answered in each of the last seconds, and what went wrong.
func (d *demo) picture(j judgment, columns int, colors bool) string {
	const label = 14
	paint := func(code, text string) string {
		if !colors {
			return text
		}
		return code + text + plain
	}
	now := d.ledger.At(time.Now())
	from := max(0, now-(columns-label-2))
	line := func(name, code string, most int, count func(second int) int) string {
		var row []rune
		for second := from; second < now; second++ {
			row = append(row, bar(count(second), most))
		}
		return fmt.Sprintf("  %-*s", label, name) + paint(code, string(row)) + "\n"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "  %s\n", paint(bold, state(j)))
	why := slices.DeleteFunc([]string{j.value, j.rollout.Status.Message}, func(s string) bool { return s == "" })
	fmt.Fprintf(&b, "  %s\n\n", cut(strings.Join(why, "; "), columns-3))
	for _, version := range d.versions() {
		b.WriteString(line(version, "", showRate, func(second int) int { return d.ledger.Second(second)[version].Sum() }))
	}
	sum := func(of func(good, bad, lost int) int) func(int) int {
		return func(second int) (n int) {
			for _, c := range d.ledger.Second(second) {
				n += of(c.Good, c.Bad, c.Lost)
			}
			return n
		}
	}
	b.WriteString(line("errors", red, 10, sum(func(_, bad, _ int) int { return bad })))
	b.WriteString(line("lost", red, 1, sum(func(_, _, lost int) int { return lost })))
	fmt.Fprintf(&b, "\n  %s\n", d.counts())
	return b.String()
}

// bar is as high as n of most: something, however little, is to be seen.
func bar(n, most int) rune {
	high := len(bars) - 1
	if n == 0 {
		return bars[0]
	}
	return bars[max(1, min(high, n*high/most))]
}

func cut(text string, columns int) string {
	if r := []rune(text); len(r) > columns {
		return string(r[:max(0, columns-1)]) + "…"
	}
	return text
}
