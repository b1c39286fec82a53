//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/sluice-delivery/sluice/hack/traffic/load"
)

// What the demo shows: v1 serves, v2 goes out, and v3 answers some requests with an error, which a real Prometheus sees.
const (
	showRate = 200
	showLag  = time.Second
	showBad  = "v3-err30"
)

// moment is something that happened during the demo.
type moment struct {
	At   time.Time
	What string
}

// demo is one run of `make demo STRATEGY=traffic`.
type demo struct {
	arena  *arena
	ledger *load.Ledger
	began  time.Time
	ended  time.Time

	mu      sync.Mutex
	moments []moment
}

// show plays the demo, with a live picture, and writes its report.
func show(ctx context.Context, w wishes) (err error) {
	nginx, err := findNGINX()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(w.show, 0o755); err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "sluice-traffic-")
	if err != nil {
		return err
	}
	defer func() {
		if err == nil {
			err = os.RemoveAll(folder)
			return
		}
		err = fmt.Errorf("%w (logs: %s)", err, folder)
	}()
	fmt.Println("▸ Start a Kubernetes control plane, NGINX, and Prometheus")
	cluster, err := startCluster(w.endpoints)
	if err != nil {
		return err
	}
	defer cluster.Stop()
	d := &demo{ledger: load.NewLedger(), arena: &arena{
		cell: cell{strategy: judged[0], lag: showLag}, rate: showRate, cluster: cluster, client: cluster.Client(), namespace: "demo", folder: folder,
		log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	}}
	defer func() { err = errors.Join(err, d.arena.stop()) }()
	if err := d.play(ctx, nginx); err != nil {
		return err
	}
	fmt.Print(d.summary())
	if w.picture != "" {
		if err := os.WriteFile(w.picture, []byte(d.chart()), 0o644); err != nil {
			return err
		}
	}
	report := filepath.Join(w.show, "traffic.html")
	if err := d.write(report); err != nil {
		return err
	}
	fmt.Printf("The report: %s\n", report)
	return d.faults()
}

// play has the good version go out and the bad one be taken back, under load.
func (d *demo) play(ctx context.Context, nginx string) error {
	a := d.arena
	if err := a.set(ctx, nginx); err != nil {
		return err
	}
	url, asked, err := a.target(ctx)
	if err != nil {
		return err
	}
	if err := a.answers(ctx, url, asked); err != nil {
		return err
	}
	fmt.Printf("▸ Send %d requests per second through NGINX\n▸ Update to v2, which is good, and to %s, 30 %% of whose answers are errors\n\n", showRate, showBad)
	loaded, unload := context.WithCancel(ctx)
	var all sync.WaitGroup
	stop := func() { unload(); all.Wait() }
	defer stop()
	d.ledger, d.began = load.NewLedger(), time.Now()
	all.Go(func() { load.Run(loaded, load.Options{URL: url, Host: asked, Rate: showRate}, d.ledger) })
	all.Go(func() { d.watch(loaded, os.Stdout) })
	for _, part := range []func(context.Context) error{
		pause(4 * time.Second), d.update("v2"), a.autoscale, d.note("autoscaler adds pods"),
		func(ctx context.Context) error { return a.healthy(ctx, "v2") }, d.note("v2 serves all"), pause(4 * time.Second),
		d.update(showBad),
		func(ctx context.Context) error { return a.caught(ctx, showBad) }, d.note(showBad + " taken back"), pause(6 * time.Second),
	} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	d.ended = time.Now()
	return nil
}

func pause(long time.Duration) func(context.Context) error {
	return func(ctx context.Context) error { return sleep(ctx, long) }
}

func (d *demo) update(tag string) func(context.Context) error {
	return func(ctx context.Context) error {
		d.happened("set image " + tag)
		return d.arena.setImage(ctx, tag)
	}
}

func (d *demo) note(what string) func(context.Context) error {
	return func(context.Context) error {
		d.happened(what)
		return nil
	}
}

func (d *demo) happened(what string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.moments = append(d.moments, moment{At: time.Now(), What: what})
}

// versions that answered, the stable one first.
func (d *demo) versions() []string { return []string{"v1", "v2", showBad} }

// summary is what came of it, in words.
func (d *demo) summary() string {
	total, f := d.ledger.Total(), d.ledger.Failures(showBad)
	var b strings.Builder
	fmt.Fprintf(&b, "\n%d requests in %.0f s: %d lost.\n", total.Sum(), d.ended.Sub(d.began).Seconds(), total.Lost)
	fmt.Fprintf(&b, "%s answered %d requests with an error, %.2f %% of all. From the first error to the last: %.1f s.\n",
		showBad, f.Count, 100*float64(f.Count)/float64(max(1, total.Sum())), f.For().Seconds())
	return b.String()
}

// faults are what the demo should not have shown.
func (d *demo) faults() error {
	total := d.ledger.Total()
	switch {
	case total.Lost > 0:
		return fmt.Errorf("%d requests were lost: %v", total.Lost, d.ledger.Reasons())
	case d.ledger.Failures(showBad).Count == 0:
		return fmt.Errorf("%s answered no request with an error, so nothing is shown", showBad)
	case d.ledger.Failures("v1").Count+d.ledger.Failures("v2").Count > 0:
		return errors.New("a good version answered with an error")
	}
	return nil
}
