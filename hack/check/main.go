// Command check searches small worlds completely, and prints how large they are.
//
//	make check                       all worlds, with the table in docs/reliability.md
//	make check WORLD=canary          one of them
//	make check WORLD=canary WAY=...  one way in it, step by step, as a counterexample prints it
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/sim/check"
)

func main() {
	world := flag.String("world", "", "search only this world")
	way := flag.String("way", "", "take these steps and print what happens")
	states := flag.Int("states", 0, "stop a search after this number of states, 0 for never")
	workers := flag.Int("workers", 0, "expand this number of states at the same time, 0 for the number of processors")
	figures := flag.String("figures", "hack/check/figures.json", "put what comes of whole worlds into this file")
	page := flag.String("page", "docs/reliability.md", "write the table of the figures into this page")
	flag.Parse()
	debug.SetGCPercent(800) // states are many and short-lived, and there is memory
	debug.SetMemoryLimit(10 << 30)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, *world, *way, check.Limits{States: *states, Workers: *workers}, paper{*figures, *page})
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "check:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, name, way string, limits check.Limits, out paper) error {
	worlds := check.Worlds
	if name != "" {
		w := check.Named(name)
		if w == nil {
			return fmt.Errorf("there is no world %q: %s", name, check.Names())
		}
		worlds = []*check.World{w}
	}
	if way != "" {
		return tell(worlds[0], name, way)
	}
	for _, w := range worlds {
		before := used()
		r := check.Search(ctx, w, plan.Next, progress(limits, w))
		if r.Found != nil {
			return fmt.Errorf("after %d states:\n%s", r.States, r.Found.Story(w, plan.Next))
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		r.Took = used() - before
		fmt.Println(check.Line(r))
		if err := out.put(r); err != nil {
			return err
		}
	}
	return nil
}

// paper is where figures go.
type paper struct{ figures, page string }

// put writes down what came of a whole world.
func (p paper) put(r check.Result) error {
	if !r.Complete {
		return nil
	}
	commit, err := exec.Command("git", "log", "-1", "--format=%h", "--", "internal/plan", "internal/spec", "internal/traffic", "internal/experiment", "internal/analysis").Output()
	if err != nil {
		return fmt.Errorf("which commit this is: %w", err)
	}
	all, err := p.add(check.FigureOf(r, strings.TrimSpace(string(commit))))
	if err != nil {
		return err
	}
	text, err := os.ReadFile(p.page)
	if err != nil {
		return err
	}
	page, err := check.Page(string(text), all)
	if err != nil {
		return err
	}
	return os.WriteFile(p.page, []byte(page), 0o644)
}

// add puts a figure into the file of figures, and returns all of them.
func (p paper) add(f check.Figure) (all []check.Figure, err error) {
	text, err := os.ReadFile(p.figures)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("%s: %w", p.figures, err)
	}
	all = f.Put(all)
	text, err = json.MarshalIndent(all, "", "  ")
	if err != nil {
		return nil, err
	}
	return all, os.WriteFile(p.figures, append(text, '\n'), 0o644)
}

func tell(w *check.World, name, way string) error {
	if name == "" {
		return fmt.Errorf("a way leads through one world: name it with WORLD")
	}
	c, err := check.ParseWay(way)
	if err != nil {
		return err
	}
	fmt.Print(c.Story(w, plan.Next))
	return nil
}

// used is the processor time that this process has used.
func used() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // there is no other reason than a wrong argument
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// progress tells how far a search has come, every few seconds.
func progress(limits check.Limits, w *check.World) check.Limits {
	last := time.Now()
	limits.Tell = func(r check.Result) {
		if time.Since(last) < 5*time.Second {
			return
		}
		last = time.Now()
		fmt.Fprintf(os.Stderr, "check: %s: %d states, %d steps deep\n", w.Name, r.States, r.Depth)
	}
	return limits
}
