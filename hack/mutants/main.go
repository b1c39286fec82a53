package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"time"
)

func main() {
	o := options{dir: ".", stages: stages, out: log.New(os.Stdout, "", 0), progress: log.New(os.Stderr, "", log.Ltime)}
	flag.IntVar(&o.count, "n", 300, "how many mutants to draw")
	flag.IntVar(&o.skip, "skip", 0, "leave out the first `N` of those that are drawn: an earlier run of the same code had them")
	flag.Uint64Var(&o.seed, "seed", 1, "the seed that draws them")
	flag.DurationVar(&o.budget, "budget", 2*time.Hour, "begin no mutant after this time")
	flag.IntVar(&o.jobs, "jobs", 1, "how many mutants to run at the same time")
	flag.BoolVar(&o.alone, "alone", false, "build each mutant by itself, which takes minutes for each")
	flag.StringVar(&o.where, "where", "", "draw only mutants whose FILE:LINE in FUNCTION: KIND matches this expression")
	flag.StringVar(&o.equivalents, "equivalents", "hack/mutants/equivalent.txt", "the list of equivalent mutants")
	flag.BoolVar(&o.list, "list", false, "list the mutants that would be drawn, and run none")
	flag.Parse()
	o.patterns = flag.Args()
	if len(o.patterns) == 0 {
		o.patterns = engines
	}
	if areRouters(o.patterns) {
		packages, err := withoutSuites(o.dir, o.patterns)
		if err != nil {
			fmt.Fprintln(os.Stderr, "mutants:", err)
			os.Exit(2)
		}
		o.patterns, o.stages = packages, own(packages)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	r, err := o.run(ctx)
	stop()
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(2)
	case len(r.survivors) > 0:
		os.Exit(1)
	}
}

// options say which mutants run against what.
type options struct {
	dir         string
	patterns    []string
	stages      []stage
	count, jobs int
	skip        int
	alone       bool
	seed        uint64
	budget      time.Duration
	where       string
	equivalents string
	list        bool

	out, progress *log.Logger
}

func (o options) run(ctx context.Context) (*report, error) {
	r := &report{seed: o.seed}
	known, err := readEquivalents(filepath.Join(o.dir, o.equivalents))
	if err != nil {
		return nil, err
	}
	all, err := o.all()
	if err != nil {
		return nil, err
	}
	sample, err := o.draw(all)
	if err != nil {
		return nil, err
	}
	r.of = len(all)
	if o.list {
		for _, m := range sample {
			o.out.Println(m)
		}
		return r, nil
	}
	var todo []*Mutant
	for _, m := range sample {
		if slices.ContainsFunc(known, func(e equivalent) bool { return e.is(m) }) {
			r.equivalent++
			continue
		}
		todo = append(todo, m)
	}
	return r, o.runAll(ctx, r, todo)
}

// all are all mutants of the packages.
func (o options) all() ([]*Mutant, error) {
	packages, err := load(o.dir, o.patterns)
	if err != nil {
		return nil, err
	}
	var all []*Mutant
	for _, p := range packages {
		all = append(all, p.mutants()...)
	}
	return all, nil
}

// draw draws mutants that compile, in random order. Equal seeds draw equal mutants from equal code.
func (o options) draw(all []*Mutant) ([]*Mutant, error) {
	where, err := regexp.Compile(o.where)
	if err != nil {
		return nil, err
	}
	random := rand.New(rand.NewPCG(o.seed, 0))
	var sample []*Mutant
	for _, i := range random.Perm(len(all)) {
		if len(sample) == o.count {
			break
		}
		if m := all[i]; where.MatchString(m.String()) && m.compiles() {
			sample = append(sample, m)
		}
	}
	if o.skip < 0 || o.skip > 0 && o.skip >= len(sample) {
		return nil, fmt.Errorf("-skip %d: %d mutants are drawn; skip between 0 and %d of them, or draw more with -n", o.skip, len(sample), max(0, len(sample)-1))
	}
	return sample[o.skip:], nil
}

// runAll runs mutants until they are all done, the time is up, or a user interrupts.
func (o options) runAll(ctx context.Context, r *report, todo []*Mutant) error {
	start := time.Now()
	scratch, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	programs, err := programsOf(o.dir, o.stages)
	if err != nil {
		return err
	}
	o.progress.Printf("building the tests with %d mutants in them", len(todo))
	shared := &runner{dir: o.dir, scratch: scratch, programs: programs}
	var joined []*Mutant
	if !o.alone {
		joined = todo
	}
	if shared.together, err = shared.buildTogether(ctx, joined); err != nil {
		return err
	}
	o.progress.Print("running the tests without a mutant")
	if err := shared.baseline(ctx, o.patterns); err != nil {
		return err
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	var failed error
	next := func() *Mutant {
		mu.Lock()
		defer mu.Unlock()
		if len(todo) == 0 || failed != nil || ctx.Err() != nil || time.Since(start) > o.budget {
			return nil
		}
		m := todo[0]
		todo = todo[1:]
		return m
	}
	for i := range max(1, o.jobs) {
		own := filepath.Join(scratch, fmt.Sprint(i))
		if err := os.Mkdir(own, 0o755); err != nil {
			return err
		}
		wg.Go(func() {
			for m := next(); m != nil; m = next() {
				out, err := (&runner{dir: o.dir, scratch: own, programs: programs, together: shared.together}).try(ctx, m)
				mu.Lock()
				switch {
				case err == nil:
					r.add(out)
					r.tell(o.progress, out)
				case !errors.Is(err, context.Canceled):
					failed = cmp.Or(failed, err)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	r.drawn, r.took = r.ran()+r.equivalent+len(r.broken), time.Since(start)
	r.write(o.out)
	return failed
}
