//go:build unix

package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"
)

func init() {
	// Children are told to end when the thread that started them does. Main's own thread lives as long as the program.
	runtime.LockOSThread()
}

// interrupted is what shells report for a program that Ctrl-C ended.
const interrupted = 130

func main() {
	timeout := flag.Duration("timeout", 2*time.Minute, "time to wait before giving up")
	flag.Parse()
	// SIGPIPE too: `make demo | head` must not leave anything behind either.
	signals, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	if flag.Arg(0) == "traffic" { // a second process, started by startTraffic
		err := traffic(signals, flag.Arg(1), os.Stdout)
		stop()
		if err != nil {
			fmt.Fprintln(os.Stderr, "demo:", err)
			os.Exit(1)
		}
		return
	}
	ctx, cancel := context.WithTimeoutCause(signals, *timeout, fmt.Errorf("it was not done after %s", *timeout))
	code := run(ctx, signals)
	cancel()
	stop()
	os.Exit(code)
}

// run tells the story and cleans up after it, however it ended. It returns the exit code.
func run(ctx, signals context.Context) int {
	keep := os.Getenv("KEEP") != "" && os.Getenv("KEEP") != "0"
	s, err := newStory(cmp.Or(os.Getenv("STRATEGY"), "canary"), keep)
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		return 1
	}
	ctx, s.fail = context.WithCancelCause(ctx)
	err = s.tell(ctx)
	if cause := context.Cause(ctx); err != nil && errors.Is(err, ctx.Err()) {
		err = cause // a child that died, or the time that is over, rather than "context canceled"
	}
	switch {
	case signals.Err() != nil:
		s.cleanUp()
		fmt.Fprintln(os.Stderr, "\ndemo: interrupted; nothing is left running")
		return interrupted
	case err != nil:
		fmt.Fprintf(os.Stderr, "\ndemo failed to %s: %v\n", s.doing, err)
		s.showLogs()
	}
	if keep {
		s.explain()
	} else {
		s.cleanUp()
	}
	if err != nil {
		return 1
	}
	return 0
}
