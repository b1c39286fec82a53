package cli

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/sluice-delivery/sluice/internal/cli/live"
)

// shown are the commands that print a picture or a table. Pictures have colors and fit the terminal. Tables and sentences have neither: like
// those of kubectl, they are the same everywhere.
func shown(t *testing.T) (commands map[string][]string, pictures map[string]bool) {
	t.Helper()
	wrong := filepath.Join(t.TempDir(), "wrong.yaml")
	if err := os.WriteFile(wrong, []byte(strings.Replace(web("", promoted), "setWeight: 10", "setWeight: 110", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	const story = "testdata/simulate/canary.yaml"
	return map[string][]string{
		"get rollout":         {"get", "ro", "web"},
		"get rollout as line": {"get", "ro", "web", "-o", "wide"},
		"get experiment":      {"get", "exp", "compare"},
		"list rollouts":       {"list", "ro", "-o", "wide"},
		"list experiments":    {"list", "exp"},
		"history":             {"history", "web"},
		"explain":             {"explain", "web"},
		"diff":                {"diff", "web"},
		"status":              {"status", "web", "--watch=false"},
		"lint":                {"lint", "-f", wrong},
		"simulate":            {"simulate", "-f", story},
	}, map[string]bool{"get rollout": true, "get experiment": true, "simulate": true}
}

func TestIntoAPipe(t *testing.T) {
	commands, _ := shown(t)
	for name, args := range commands {
		t.Run(name, func(t *testing.T) {
			out := fleet(t).run(t.Context(), args...).out
			if out == "" || strings.ContainsAny(out, "\x1b\r") {
				t.Errorf("neither colors nor cursor moves belong into a pipe:\n%q", out)
			}
		})
	}
	for _, args := range [][]string{{"get", "ro", "web", "-w"}, {"list", "ro", "-w"}, {"status", "web"}} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			out := fleet(t).runUntil(t.Context(), "Paused", args...).out
			if !strings.Contains(out, "Paused") || strings.ContainsAny(out, "\x1b\r") {
				t.Errorf("neither colors nor cursor moves belong into a pipe:\n%q", out)
			}
		})
	}
}

func TestOnATerminal(t *testing.T) {
	commands, pictures := shown(t)
	for name, args := range commands {
		t.Run(name, func(t *testing.T) {
			colored := onTerminal(t, 200, nil, args...)
			plain := color.ReplaceAllString(colored, "")
			if strings.ContainsAny(plain, "\x1b\r") {
				t.Errorf("the output has more than colors: %q", colored)
			}
			if has := colored != plain; has != pictures[name] {
				t.Errorf("colored: %t, want %t:\n%q", has, pictures[name], colored)
			}
			for variable, value := range map[string]string{"NO_COLOR": "1", "TERM": "dumb"} {
				if diff := cmp.Diff(plain, onTerminal(t, 200, map[string]string{variable: value}, args...)); diff != "" {
					t.Errorf("with %s=%s (-without colors +got):\n%s", variable, value, diff)
				}
			}
			narrow := color.ReplaceAllString(onTerminal(t, 60, nil, args...), "")
			if !pictures[name] {
				if diff := cmp.Diff(plain, narrow); diff != "" {
					t.Errorf("the width of the terminal changes it (-200 +60):\n%s", diff)
				}
				return
			}
			for line := range strings.Lines(narrow) {
				if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 60 {
					t.Errorf("on a terminal of 60 columns a line takes %d: %s", n, line)
				}
			}
		})
	}
}

// color is all that may be in a picture besides text.
var color = regexp.MustCompile("\x1b\\[[0-9;]*m")

// fleet has something for every command to show.
func fleet(t *testing.T) cluster {
	t.Helper()
	return newCluster(t, web("", paused), replicaSet("a", 1), replicaSet("b", 2), experiment)
}

// onTerminal is what a command writes to a terminal of a width.
func onTerminal(t *testing.T, columns uint16, variables map[string]string, args ...string) string {
	t.Helper()
	environment := map[string]string{"NO_COLOR": "", "TERM": "xterm-256color"}
	for name, value := range variables {
		environment[name] = value
	}
	for name, value := range environment {
		t.Setenv(name, value)
	}
	out, text := terminal(t, columns)
	a := newApp("sluice", Streams{In: strings.NewReader(""), Out: out, Err: io.Discard})
	a.clock = stopped{}
	c := fleet(t)
	a.connect = func() (live.Client, error) { return live.Client{Interface: c, Namespace: "shop"}, nil }
	a.run(t.Context(), args)
	return text()
}

// terminal is a pseudoterminal. text closes it, and returns what was written to it.
func terminal(t *testing.T, columns uint16) (out *os.File, text func() string) {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	far, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	check(err)
	t.Cleanup(func() { _ = far.Close() })
	check(unix.IoctlSetPointerInt(int(far.Fd()), unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(int(far.Fd()), unix.TIOCGPTN)
	check(err)
	check(unix.IoctlSetWinsize(int(far.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: columns}))
	out, err = os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|unix.O_NOCTTY, 0)
	check(err)
	_, err = term.MakeRaw(int(out.Fd())) // or it would write \r\n for \n
	check(err)

	var (
		written bytes.Buffer
		read    sync.WaitGroup
	)
	read.Go(func() { _, _ = io.Copy(&written, far) }) // ends with an error when the near end is closed
	return out, func() string {
		check(out.Close())
		read.Wait()
		return written.String()
	}
}
