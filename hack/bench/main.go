//go:build linux

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sluice-delivery/sluice/internal/playtest"
)

// wishes are what the command line asks for.
type wishes struct {
	// rollouts are how many are measured with every strategy, many how many with the first one for the memory that they take.
	rollouts, many, replicas, idle int
	// hostile is how many objects of another tenant one rollout is timed beside.
	hostile     int
	onlyHostile bool
	// plugins are how many rollouts are timed beside as many that wait for a plugin.
	plugins     int
	onlyPlugins bool
	// analyses are how many AnalysisRuns measure at once.
	analyses     int
	onlyAnalyses bool
	strategies   []strategy
	into         string
	trace        bool
	profile      string
}

func main() {
	w, err := readWishes(os.Args[1:])
	if err == nil {
		log.SetLogger(logr.Discard()) // of the client: the playground's warnings are not what is measured
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		err = bench(ctx, w)
		stop()
	}
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func readWishes(args []string) (wishes, error) {
	var w wishes
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.IntVar(&w.rollouts, "rollouts", 100, "how many rollouts to update at once")
	flags.IntVar(&w.many, "many", 500, "how many rollouts to update at once with the first strategy; 0 to leave this out")
	flags.IntVar(&w.replicas, "replicas", 3, "how many pods each has")
	flags.IntVar(&w.idle, "idle", 5000, "how many rollouts without pods to leave idle; 0 to leave this out")
	flags.IntVar(&w.hostile, "hostile", 10000, "how many objects of a hostile tenant to time another's rollout beside; 0 to leave this out")
	flags.IntVar(&w.analyses, "analyses", 1000, "how many AnalysisRuns to measure every ten seconds; 0 to leave this out")
	flags.BoolVar(&w.onlyAnalyses, "only-analyses", false, "measure nothing but -analyses")
	flags.IntVar(&w.plugins, "plugins", 10, "how many rollouts to time beside as many whose plugin does not answer; 0 to leave this out")
	flags.BoolVar(&w.onlyPlugins, "only-plugins", false, "measure nothing but -plugins")
	names := flags.String("strategies", "", "comma-separated strategies; empty for all: "+strings.Join(strategyNames(), ", "))
	flags.StringVar(&w.into, "into", "", "file to write the result into, between its marks")
	onlyHostile := flags.Bool("only-hostile", false, "measure nothing but -hostile")
	flags.BoolVar(&w.trace, "trace", false, "also print every request for the first rollout")
	flags.StringVar(&w.profile, "profile", "", "folder for processor profiles of the controller during the update")
	if err := flags.Parse(args); err != nil {
		return w, err
	}
	w.onlyHostile = *onlyHostile
	for _, s := range strategies {
		if *names == "" || slices.Contains(strings.Split(*names, ","), s.name) {
			w.strategies = append(w.strategies, s)
		}
	}
	if len(w.strategies) == 0 {
		return w, fmt.Errorf("-strategies %q names none of %s", *names, strings.Join(strategyNames(), ", "))
	}
	if w.rollouts < 1 || w.replicas < 1 || w.many < 0 || w.idle < 0 || w.hostile < 0 || w.analyses < 0 || w.plugins < 0 {
		return w, errors.New("-rollouts and -replicas must be 1 or more, and -many, -idle, -hostile, -analyses and -plugins 0 or more")
	}
	return w, nil
}

// bench measures all that is wished for and tells it.
func bench(ctx context.Context, w wishes) error {
	folder, err := os.MkdirTemp("", "sluice-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder) //nolint:errcheck // the system clears its folder of temporary files
	log := &auditLog{path: filepath.Join(folder, "audit.log")}
	cluster, err := startCluster(log.path)
	if cluster != nil {
		defer cluster.Stop()
	}
	if err != nil {
		return err
	}
	f := field{cluster: cluster, audit: log, folder: folder, wishes: w}
	r := report{wishes: w}
	var failures []error
	for _, p := range f.parts(&r) {
		progress("%s", p.name)
		err := p.measure(ctx)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil { // the rest is worth having all the same
			progress("%s: %v", p.name, err)
			failures = append(failures, fmt.Errorf("%s: %w", p.name, err))
		}
		r.yardstick = append(r.yardstick, yardstick())
		if err := r.save(w.into); err != nil {
			return err
		}
	}
	fmt.Print(r.String())
	return errors.Join(failures...)
}

// startCluster starts a playground that writes what it is asked into an audit log.
func startCluster(audit string) (*playtest.Cluster, error) {
	cluster, err := playtest.Start("--audit-log", audit, "--pod-ready-after", "1s", "--nodes", "10")
	if err != nil {
		return cluster, err
	}
	return cluster, errors.Join(playtest.WithGatewayAPI(cluster), playtest.WithIstio(cluster))
}

// part is one measurement.
type part struct {
	name    string
	measure func(context.Context) error
}

// parts are the measurements that are wished for, in their order, and what they add to the report.
func (f *field) parts(r *report) []part {
	var parts []part
	herd := func(s strategy, rollouts int) {
		parts = append(parts, part{fmt.Sprintf("%s: %d rollouts of %d pods", s.name, rollouts, f.wishes.replicas), func(ctx context.Context) error {
			result, err := f.measure(ctx, s, rollouts)
			if err == nil {
				r.results = append(r.results, result)
			}
			return err
		}})
	}
	hostile := part{fmt.Sprintf("%d hostile objects", f.wishes.hostile), func(ctx context.Context) (err error) {
		r.hostile, err = f.measureHostile(ctx, f.wishes.hostile)
		return err
	}}
	analyses := part{fmt.Sprintf("%d AnalysisRuns", f.wishes.analyses), func(ctx context.Context) (err error) {
		r.analyses, err = f.measureAnalyses(ctx, f.wishes.analyses)
		return err
	}}
	plugins := part{fmt.Sprintf("%d rollouts beside a slow plugin", f.wishes.plugins), func(ctx context.Context) (err error) {
		r.plugins, err = f.measurePlugins(ctx, f.wishes.plugins)
		return err
	}}
	switch {
	case f.wishes.onlyPlugins:
		return []part{plugins}
	case f.wishes.onlyHostile:
		return []part{hostile}
	case f.wishes.onlyAnalyses:
		return []part{analyses}
	}
	for _, s := range f.wishes.strategies {
		herd(s, f.wishes.rollouts)
	}
	if f.wishes.many > 0 && f.wishes.many != f.wishes.rollouts {
		herd(f.wishes.strategies[0], f.wishes.many)
	}
	parts = append(parts,
		part{"reaction", func(ctx context.Context) (err error) {
			r.reaction, err = f.measureReaction(ctx)
			return err
		}},
		part{"hand-over", func(ctx context.Context) (err error) {
			r.handOver, err = f.measureHandOver(ctx)
			return err
		}})
	if f.wishes.analyses > 0 {
		parts = append(parts, analyses)
	}
	if f.wishes.plugins > 0 {
		parts = append(parts, plugins)
	}
	if f.wishes.idle > 0 {
		parts = append(parts, part{fmt.Sprintf("%d idle rollouts", f.wishes.idle), func(ctx context.Context) (err error) {
			r.idle, err = f.measureIdle(ctx, f.wishes.idle)
			return err
		}})
	}
	if f.wishes.hostile > 0 {
		parts = append(parts, hostile)
	}
	return parts
}

var began = time.Now()

func progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "bench: %5.0f s  %s\n", time.Since(began).Seconds(), fmt.Sprintf(format, args...))
}
