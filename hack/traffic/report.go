//go:build linux

package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/sluice-delivery/sluice/hack/traffic/load"
)

// result is what came of a cell.
type result struct {
	cell   cell
	ledger *load.Ledger
	// beta is what came of the requests with the betaHeader; nil where there are none.
	beta   *load.Ledger
	shares []share
	copies copies
}

// copies is the number of copies that the canary got, and the least and the most that it could get.
type copies struct{ got, least, most int }

// wrong allows for a data plane that is later than it was told to be, as on a busy machine.
func (c copies) wrong() bool { return c.got < c.least/2 || c.got > c.most }

// total is what came of all requests.
func (r result) total() load.Count {
	sum := r.ledger.Total()
	if r.beta != nil {
		sum.Add(r.beta.Total())
	}
	return sum
}

// reasons are why requests were lost.
func (r result) reasons() map[string]int {
	all := r.ledger.Reasons()
	if r.beta != nil {
		for reason, n := range r.beta.Reasons() {
			all[reason] += n
		}
	}
	return all
}

// unlikely is the probability below which a share is not what was asked for. With a few hundred shares one of them is below it by chance in three
// hundred runs.
const unlikely = 1e-5

func (r result) line() string {
	total := r.total()
	text := fmt.Sprintf("%s: %d requests, %d lost, p99 %s", r.cell, total.Sum(), total.Lost, r.ledger.Latency(0.99).Round(100*time.Microsecond))
	for _, s := range r.shares {
		text += fmt.Sprintf("; asked %.0f %%, got %.1f %% (p %.2g)", s.asked*100, s.got*100, s.p)
	}
	if r.cell.countsCopies() {
		text += fmt.Sprintf("; %d copies of %d to %d requests", r.copies.got, r.copies.least, r.copies.most)
	}
	reasons := r.reasons()
	for _, reason := range slices.Sorted(maps.Keys(reasons)) {
		text += fmt.Sprintf("\n    %d × %s", reasons[reason], reason)
	}
	return text
}

// shareText is the share that is furthest from what was asked for, in units of chance.
func (r result) shareText() string {
	if len(r.shares) == 0 {
		return ""
	}
	s := slices.MinFunc(r.shares, func(a, b share) int {
		switch {
		case a.p < b.p:
			return -1
		case a.p > b.p:
			return 1
		}
		return 0
	})
	return fmt.Sprintf("%.1f %% of %.0f %%", s.got*100, s.asked*100)
}

// table of all cells, in Markdown.
func table(results []result) string {
	var b strings.Builder
	var all load.Count
	b.WriteString("| strategy | event | data plane is late by | requests | lost | p99 | canary's share, where it differed most |\n|---|---|---:|---:|---:|---:|---|\n")
	for _, r := range results {
		total, event := r.total(), r.cell.event.name
		if r.cell.careless != nil {
			event += ", " + r.cell.careless.name
		} else {
			all.Add(total)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %d | %d | %s | %s |\n", r.cell.strategy.name, event, r.cell.lag, total.Sum(), total.Lost,
			r.ledger.Latency(0.99).Round(100*time.Microsecond), r.shareText())
	}
	fmt.Fprintf(&b, "\n%d requests in %d cells without a mistake in their settings, %d lost.\n", all.Sum(), len(results)-careless(results), all.Lost)
	for i, m := range mistakes {
		if i < careless(results) {
			fmt.Fprintf(&b, "\n- %s: %s.", m.name, m.why)
		}
	}
	return b.String() + "\n"
}

// summary is what was lost of each strategy's requests in each event, at all delays, in Markdown.
func summary(results []result) string {
	type of struct{ strategy, event string }
	counts, cells := map[of]load.Count{}, 0
	var all load.Count
	var across, down []string
	for _, r := range results {
		if r.cell.careless != nil {
			continue
		}
		key, total := of{r.cell.strategy.name, r.cell.event.name}, r.total()
		if !slices.Contains(across, key.strategy) {
			across = append(across, key.strategy)
		}
		if !slices.Contains(down, key.event) {
			down = append(down, key.event)
		}
		sum := counts[key]
		sum.Add(total)
		all.Add(total)
		counts[key] = sum
		cells++
	}
	var b strings.Builder
	fmt.Fprintf(&b, "| requests lost | %s |\n|---|%s\n", strings.Join(across, " | "), strings.Repeat("--:|", len(across)))
	for _, event := range down {
		b.WriteString("| " + event)
		for _, strategy := range across {
			if c, ok := counts[of{strategy, event}]; ok {
				fmt.Fprintf(&b, " | %d of %d", c.Lost, c.Sum())
			} else {
				b.WriteString(" |")
			}
		}
		b.WriteString(" |\n")
	}
	fmt.Fprintf(&b, "\n%d of %d requests were lost, in %d cells.\n", all.Lost, all.Sum(), cells)
	return b.String()
}

func careless(results []result) (n int) {
	for _, r := range results {
		if r.cell.careless != nil {
			n++
		}
	}
	return n
}

// faults are requests that were lost and should not, shares that are not what was asked for, and settings that should lose requests and did not.
func faults(results []result) error {
	var errs []error
	for _, r := range results {
		total := r.total()
		switch {
		case r.cell.careless == nil && total.Lost > 0:
			errs = append(errs, fmt.Errorf("%s: %d requests lost: %v", r.cell, total.Lost, r.reasons()))
		case r.cell.careless != nil && total.Lost == 0:
			errs = append(errs, fmt.Errorf("%s: no request lost, so the ledger cannot be believed", r.cell))
		}
		if r.cell.countsCopies() && r.copies.wrong() {
			errs = append(errs, fmt.Errorf("%s: %d copies, want %d to %d", r.cell, r.copies.got, r.copies.least, r.copies.most))
		}
		for _, s := range r.shares {
			if s.p < unlikely {
				errs = append(errs, fmt.Errorf("%s: the canary got %.1f %% for %d s, and %.0f %% were asked for (p %.2g)", r.cell, s.got*100, s.seconds, s.asked*100, s.p))
			}
		}
	}
	return errors.Join(errs...)
}

// insert writes a table into a page, between its markers.
func insert(page, marks, table string) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	begin, end := "<!-- "+marks+": begin, written by make traffic -->", "<!-- "+marks+": end -->"
	before, rest, ok1 := strings.Cut(string(text), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok1 || !ok2 {
		return fmt.Errorf("%s has no markers %q and %q", page, begin, end)
	}
	return os.WriteFile(page, []byte(before+begin+"\n\n"+table+"\n"+end+after), 0o600)
}
