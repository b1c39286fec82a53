//go:build linux

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sluice-delivery/sluice/internal/playtest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := traffic(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "traffic:", err)
		os.Exit(1)
	}
}

// wishes are the command's flags.
type wishes struct {
	rate, parallel   int
	strategies, does []string
	lags             []time.Duration
	// endpoints is how late EndpointSlices list pods.
	endpoints     time.Duration
	careless, bad bool
	// out and summary are pages for the table and for its summary, empty for none.
	out, summary string
	// elsewhere is a Rollout of the user's own cluster; without one, the playground is used.
	elsewhere elsewhere
	// show is the folder for the report of the demo; empty: the matrix is played.
	show, picture string
}

func read(args []string) (w wishes, err error) {
	f := flag.NewFlagSet("traffic", flag.ContinueOnError)
	f.IntVar(&w.rate, "rate", 400, "requests a second for each cell")
	f.IntVar(&w.parallel, "parallel", 2, "cells at the same time")
	f.DurationVar(&w.endpoints, "endpoints", 0, "how long changes of pods are gathered before EndpointSlices list them")
	f.BoolVar(&w.careless, "careless", true, "also play the settings that lose requests")
	f.BoolVar(&w.bad, "bad", false, "play no matrix, but a version that fails from its first request on, with an analysis that catches it")
	f.StringVar(&w.show, "show", "", "play no matrix, but show a good and a bad version under load, and write the report into this folder")
	f.StringVar(&w.picture, "picture", "", "with -show: write the chart into this file, as SVG")
	f.StringVar(&w.out, "o", "", "write the table into this file, between its markers")
	f.StringVar(&w.summary, "summary", "", "write what each strategy lost in each event into this file, between its markers")
	w.elsewhere.flags(f)
	strategies := f.String("strategy", "", "only strategies with these words in their name, with commas")
	does := f.String("event", "", "only events with these words in their name, with commas")
	lags := f.String("lags", "0s,2s", "delays of the data plane, with commas")
	if err := f.Parse(args); err != nil {
		return w, err
	}
	w.strategies, w.does = split(*strategies), split(*does)
	for _, text := range split(*lags) {
		lag, err := time.ParseDuration(text)
		if err != nil || lag < 0 || lag > 10*time.Second {
			return w, fmt.Errorf("-lags: %q is not a duration between 0s and 10s", text)
		}
		w.lags = append(w.lags, lag)
	}
	if w.rate < 1 || w.parallel < 1 {
		return w, errors.New("-rate and -parallel must be 1 or more")
	}
	return w, w.elsewhere.check()
}

func split(text string) []string {
	return slices.DeleteFunc(strings.Split(text, ","), func(s string) bool { return s == "" })
}

// cells are those of the matrix that are asked for.
func (w wishes) cells() []cell {
	wanted := func(name string, words []string) bool {
		return len(words) == 0 || slices.ContainsFunc(words, func(word string) bool { return strings.Contains(strings.ToLower(name), strings.ToLower(word)) })
	}
	var all []cell
	if w.bad {
		for _, s := range judged {
			if !wanted(s.name, w.strategies) {
				continue
			}
			for _, lag := range w.lags {
				all = append(all, cell{strategy: s, event: badVersion, lag: lag})
			}
		}
		return all
	}
	for _, s := range strategies {
		for _, e := range events {
			if !wanted(s.name, w.strategies) || !wanted(e.name, w.does) {
				continue
			}
			for _, lag := range w.lags {
				all = append(all, cell{strategy: s, event: e, lag: lag})
			}
		}
	}
	if w.careless {
		for i := range mistakes {
			all = append(all, cell{strategy: strategies[0], event: events[0], lag: mistakes[i].lag, careless: &mistakes[i]})
		}
	}
	return all
}

func traffic(ctx context.Context, args []string) error {
	w, err := read(args)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	if w.show != "" {
		return show(ctx, w)
	}
	if w.elsewhere.image != "" {
		return w.elsewhere.play(ctx, w.rate, os.Stdout)
	}
	results, err := play(ctx, w, w.cells())
	text, marks := table(results), "traffic"
	if w.bad {
		text, marks = badTable(results, w.rate), "bad version"
	}
	fmt.Print(text)
	if err == nil && w.out != "" {
		err = insert(w.out, marks, text)
	}
	if err == nil && w.summary != "" && !w.bad {
		err = insert(w.summary, "traffic", summary(results))
	}
	err = errors.Join(err, faults(results))
	if w.bad {
		err = errors.Join(err, unharmed(results))
	}
	return err
}

// startCluster starts a playground whose EndpointSlices list pods so much later.
func startCluster(endpoints time.Duration) (*playtest.Cluster, error) {
	cluster, err := playtest.Start("--metrics=true", "--endpointslice-updates-batch-period="+endpoints.String()) // autoscalers go by metrics
	for _, add := range []func(*runtime.Scheme) error{autoscalingv2.AddToScheme, policyv1.AddToScheme} {
		if err == nil {
			err = add(cluster.Client().Scheme())
		}
	}
	if err == nil {
		err = playtest.WithGatewayAPI(cluster)
	}
	if err != nil && cluster != nil {
		cluster.Stop()
	}
	return cluster, err
}

// play plays cells on one playground.
func play(ctx context.Context, w wishes, cells []cell) (results []result, err error) {
	if len(cells) == 0 {
		return nil, errors.New("no cell has these names")
	}
	nginx := ""
	if slices.ContainsFunc(cells, func(c cell) bool { return c.strategy.gateway }) {
		if nginx, err = findNGINX(); err != nil {
			return nil, err
		}
	}
	cluster, err := startCluster(w.endpoints)
	if err != nil {
		return nil, err
	}
	defer cluster.Stop()
	folder, err := os.MkdirTemp("", "sluice-traffic-")
	if err != nil {
		return nil, err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	results, errs := make([]result, len(cells)), make([]error, len(cells))
	var all sync.WaitGroup
	seats := make(chan struct{}, w.parallel)
	for i, c := range cells {
		seats <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		all.Go(func() {
			defer func() { <-seats }()
			a := &arena{cell: c, cluster: cluster, client: cluster.Client(), namespace: namespaceOf(i), folder: filepath.Join(folder, namespaceOf(i)), log: log, rate: w.rate}
			if errs[i] = os.Mkdir(a.folder, 0o700); errs[i] == nil {
				results[i], errs[i] = a.run(ctx, nginx)
			}
			if errs[i] == nil {
				fmt.Fprintf(os.Stderr, "%d of %d: %s\n", i+1, len(cells), results[i].line())
			}
		})
	}
	all.Wait()
	results = slices.DeleteFunc(results, func(r result) bool { return r.ledger == nil })
	if err := errors.Join(append(errs, context.Cause(ctx))...); err != nil {
		return results, fmt.Errorf("%w (logs: %s)", err, folder)
	}
	return results, os.RemoveAll(folder)
}
