package explore

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-delivery/sluice/internal/plan"
)

// regressions is where histories are that failed once. They are data: what makes histories from seeds can change, and they do not.
const regressions = "testdata/regressions"

// TestRegressions plays them. None fails any more, but each still does with a mutant that it is said to catch: a recording that goes past
// its fault is worth nothing.
func TestRegressions(t *testing.T) {
	paths, err := filepath.Glob(regressions + "/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("there are none: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			t.Parallel()
			r, err := readRecording(path)
			if err != nil {
				t.Fatal(err)
			}
			if fault := play(r.trial(), Real, logged(t), nil); fault != nil {
				t.Errorf("%q is back: %v", r.fault, fault)
			}
			if !*brief {
				r.bites(t)
			}
		})
	}
}

func readRecording(path string) (*recording, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	r, err := parseRecording(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// bites checks that the recording finds one of the mutants that it is said to catch, or the very one that is called after its fault.
func (r *recording) bites(t *testing.T) {
	t.Helper()
	all := mutantsFor(r.Trial)
	for _, name := range r.caught {
		subject, ok := all[name]
		if !ok {
			t.Errorf("no mutant %q is tried with histories of this kind", name)
			return
		}
		if play(r.trial(), subject, nil, nil) != nil {
			return
		}
		if name == r.fault {
			break
		}
	}
	t.Errorf("none of the mutants %q breaks a rule any more: name others that do, or record another history (TestRecord -mutant)", r.caught)
}

// logged prints what happens when a single regression is run with -v.
func logged(t *testing.T) func(string, ...any) {
	if testing.Verbose() && flag.Lookup("test.run").Value.String() != "" {
		return t.Logf
	}
	return nil
}

// mutantsFor are the mutants that can be tried with a kind of history.
func mutantsFor(t Trial) map[string]Subject {
	all := map[string]Subject{}
	switch {
	case t.Shell && t.Experiments:
		for name, mutant := range experimentShellMutants {
			all[name] = Subject{Engine: plan.Next, Break: mutant}
		}
	case t.Shell:
		for name, mutant := range shellMutants {
			all[name] = Subject{Engine: plan.Next, Break: mutant}
		}
		if t.Routed {
			for name, mutant := range routedShellMutants {
				all[name] = Subject{Engine: plan.Next, Break: mutant}
			}
		}
		if t.Late {
			for name, mutant := range lateShellMutants {
				all[name] = Subject{Engine: plan.Next, Break: mutant}
			}
		}
	case t.Experiments:
		for name, mutant := range experimentMutants {
			all[name] = mutant.subject
		}
	default:
		maps.Copy(all, broken())
		if t.Plugins {
			for name, engine := range pluginMutants {
				all[name] = Subject{Engine: engine}
			}
		}
		if t.Routed {
			for name, mutant := range routedMutants {
				all[name] = Subject{Engine: mutant.engine}
			}
		}
	}
	return all
}

var (
	recorded = flag.String("record", "", "the name under which TestRecord writes the one history into "+regressions)
	found    = flag.String("fault", "", "what that history found")
	mutant   = flag.String("mutant", "", "the mutant that has that fault, which decides while it is recorded; none for the engine as it is")
)

// TestRecord writes a history down: -run TestRecord -record NAME -fault "what it found" -seed N, and the other flags of its replay. It is best
// recorded while the fault is there, or by a mutant that has it: what fate does to passes that are made no more is lost.
func TestRecord(t *testing.T) {
	if *recorded == "" {
		t.Skip("no -record")
	}
	if *seed == 0 || *found == "" {
		t.Fatal("-record needs -seed and -fault")
	}
	trial, subject := replayed(t), Real
	if *mutant != "" {
		subject = mutantsFor(trial)[*mutant]
	}
	r, err := recordingOf(trial, subject, *found, true)
	if err != nil {
		t.Fatal(err)
	}
	if r.caught = r.catches(*mutant); len(r.caught) == 0 {
		t.Log("it catches none of the mutants: write one that has its fault, or nothing says when it goes past it")
	}
	if err := os.WriteFile(filepath.Join(regressions, *recorded+".txt"), []byte(r.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// catches are mutants that the recording finds, the one that is asked for among them: a few, since each is one more history to play.
func (r *recording) catches(first string) []string {
	all := mutantsFor(r.Trial)
	names := slices.Sorted(maps.Keys(all))
	if i := slices.Index(names, first); i >= 0 {
		names = slices.Insert(slices.Delete(names, i, i+1), 0, first)
	}
	var caught []string
	for _, name := range names {
		if len(caught) < 3 && play(r.trial(), all[name], nil, nil) != nil {
			caught = append(caught, name)
		}
	}
	return caught
}

// recordingOf plays a trial and returns what happened, if it is to be trimmed without the kinds of fate that do not matter.
func recordingOf(t Trial, s Subject, fault string, trim bool) (*recording, error) {
	r := &recording{fault: fault}
	want, wanted := passesOf(t, s, r)
	same := func(fates []happening) bool {
		like := *r
		like.fates, like.byKind = fates, nil
		got, found := passesOf(like.trial(), s, nil)
		return slices.Equal(got, want) && (found == nil) == (wanted == nil) && (found == nil || found.Rule == wanted.Rule)
	}
	if !same(r.fates) {
		return nil, fmt.Errorf("%s: what was recorded is another history", r.from)
	}
	if !trim {
		return r, nil
	}
	kinds := map[string]bool{}
	for _, f := range r.fates {
		kinds[f.what] = true
	}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		shorter := slices.DeleteFunc(slices.Clone(r.fates), func(f happening) bool { return f.what == kind })
		if same(shorter) {
			r.fates = shorter
		}
	}
	r.byKind = nil
	return r, nil
}

// aPass is a line of the log that reports a reconcile, or an act of a user who waits for the end.
var aPass = regexp.MustCompile(` (pass|retry|promote)\b`)

// passesOf plays a history and returns the passes that there were.
func passesOf(t Trial, s Subject, into *recording) (passes []string, fault *Fault) {
	fault = play(t, s, func(format string, args ...any) {
		if line := fmt.Sprintf(format, args...); aPass.MatchString(line) {
			passes = append(passes, line)
		}
	}, into)
	return passes, fault
}

// TestRecordingsPlayTheSameHistory: whatever the kind of history, its recording has the same passes, and its text is the whole of it.
func TestRecordingsPlayTheSameHistory(t *testing.T) {
	for name, kind := range map[string]Trial{
		"basic": {}, "routed": {Routed: true}, "hands": {Hands: true}, "routed hands": {Routed: true, Hands: true}, "experiments": {Experiments: true},
		"shell": {Shell: true}, "standby": {Shell: true, Standby: true}, "routed shell": {Shell: true, Routed: true},
		"plugins": {Plugins: true}, "routed plugins": {Plugins: true, Routed: true}, "plugins in the shell": {Plugins: true, Shell: true},
		"experiments in the shell": {Shell: true, Experiments: true, Standby: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := uint64(1); seed <= 5; seed++ {
				kind.Seed = seed
				r, err := recordingOf(kind, Real, name, false)
				if err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				read, err := parseRecording(r.String())
				if err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				if read.String() != r.String() {
					t.Errorf("seed %d: it is read as another recording", seed)
				}
				was, _ := passesOf(r.trial(), Real, nil)
				is, _ := passesOf(read.trial(), Real, nil)
				if len(was) == 0 || !slices.Equal(was, is) {
					t.Errorf("seed %d: the text has another history", seed)
				}
			}
		})
	}
}

func TestParseRecordingRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"an act of nobody":               "    Abort\n",
		"a word that begins no line":     "moves 1s abort\n",
		"a time that is none":            "move soon abort\n",
		"a world that there is not":      "world windy\n",
		"a start that is not a duration": "world pod-start=3\n",
	} {
		if _, err := parseRecording(text); err == nil {
			t.Errorf("%s is read", name)
		}
	}
	p := &people{}
	for name, line := range map[string]string{"a verb that there is not": "Fly", "no argument": "Scale", "an argument of another kind": `Scale "much"`} {
		if err := p.again(line); err == nil {
			t.Errorf("%s is done", name)
		}
	}
}
