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

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sluice-delivery/sluice/internal/playtest"
)

// wishes are what the command line asks for.
type wishes struct {
	rollouts, replicas, idle int
	strategies               []strategy
	into                     string
	trace                    bool
	profile                  string
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
	flags.IntVar(&w.replicas, "replicas", 3, "how many pods each has")
	flags.IntVar(&w.idle, "idle", 5000, "how many rollouts without pods to leave idle; 0 to leave this out")
	names := flags.String("strategies", "", "comma-separated strategies; empty for all: "+strings.Join(strategyNames(), ", "))
	flags.StringVar(&w.into, "into", "", "file to write the result into, between its marks")
	flags.BoolVar(&w.trace, "trace", false, "also print every request for the first rollout")
	flags.StringVar(&w.profile, "profile", "", "folder for processor profiles of the controller during the update")
	if err := flags.Parse(args); err != nil {
		return w, err
	}
	for _, s := range strategies {
		if *names == "" || slices.Contains(strings.Split(*names, ","), s.name) {
			w.strategies = append(w.strategies, s)
		}
	}
	if w.rollouts < 1 || w.replicas < 1 || w.idle < 0 {
		return w, errors.New("-rollouts and -replicas must be 1 or more, and -idle 0 or more")
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
	// The playground saves memory by default, which costs time that is not the controller's.
	if err := os.Setenv("GOMEMLIMIT", "4GiB"); err != nil {
		return err
	}
	log := &auditLog{path: filepath.Join(folder, "audit.log")}
	cluster, err := playtest.Start("--audit-log", log.path, "--pod-ready-after", "1s", "--nodes", "10")
	if cluster != nil {
		defer cluster.Stop()
	}
	if err != nil {
		return err
	}
	if err := playtest.WithGatewayAPI(cluster); err != nil {
		return err
	}
	if err := os.Unsetenv("GOMEMLIMIT"); err != nil { // the controller runs as a user runs it
		return err
	}
	f := field{cluster: cluster, audit: log, folder: folder, wishes: w}
	var r report
	r.wishes = w
	for _, s := range w.strategies {
		progress("%s: %d rollouts of %d pods", s.name, w.rollouts, w.replicas)
		result, err := f.measure(ctx, s)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		r.results = append(r.results, result)
	}
	progress("reaction")
	if r.reaction, err = f.measureReaction(ctx); err != nil {
		return fmt.Errorf("reaction: %w", err)
	}
	if w.idle > 0 {
		progress("%d idle rollouts", w.idle)
		if r.idle, err = f.measureIdle(ctx, w.idle); err != nil {
			return fmt.Errorf("idle: %w", err)
		}
	}
	return r.publish(w.into)
}

func progress(format string, args ...any) { fmt.Fprintf(os.Stderr, "bench: "+format+"\n", args...) }
