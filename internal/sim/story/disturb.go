package story

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-delivery/sluice/internal/sim/script"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-delivery/sluice/internal/sim"
)

var (
	crashEvery = flag.Int("crash-every", 1, "crash at every nth write of each story, each time in a run of its own")
	staleEvery = flag.Int("stale-every", 12, "show old objects to every nth reconcile of each story, each in a run of its own")
)

// fewerBetween is of how many crashes between two passes one is tried: they lose nothing but what a process remembers.
const fewerBetween = 6

// CrashAnywhere plays every transcript again and again, with the controller stopping between the first and the second write of a pass, the second
// and the third, and so on, and between some passes. Wherever it stopped, everything ends as it would have.
func CrashAnywhere(t *testing.T) {
	t.Parallel()
	for path, stories := range undisturbed(t) {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			for _, story := range stories {
				story.disturb(t, *crashEvery*fewer, story.within, (*script.Script).CrashAtWrite)
				story.disturb(t, *crashEvery*fewer*fewerBetween, story.between, (*script.Script).CrashAtWrite)
			}
		})
	}
}

// StaleAnywhere does the same with a pass that sees objects of one kind, or of all, as they were some changes ago.
func StaleAnywhere(t *testing.T, views map[string]sim.View) {
	t.Parallel()
	told := undisturbed(t)
	for name, view := range views {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, stories := range told {
				for _, story := range stories {
					story.disturb(t, *staleEvery*fewer, numbers(story.passes), func(s *script.Script, n int) { s.StaleAtPass(n, view) })
				}
			}
		})
	}
}

// undisturbed plays all stories as they are written, and returns them by their files.
func undisturbed(t *testing.T) map[string][]story {
	t.Helper()
	told := map[string][]story{}
	for i, story := range stories(t) {
		script := script.New()
		script.Hush()
		story.number, story.told = i, tell(t, script, story.lines)
		story.passes, story.between = script.Passes(), script.FirstWrites()
		story.within = slices.DeleteFunc(numbers(script.Writes()), func(n int) bool { return slices.Contains(story.between, n) })
		told[story.name] = append(told[story.name], story)
	}
	return told
}

// numbers are those from zero on, up to n.
func numbers(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// disturb plays the story once for each of its moments, or for every nth of them, disturbed at that moment.
func (s story) disturb(t *testing.T, every int, moments []int, arrange func(script *script.Script, moment int)) {
	t.Helper()
	for i := s.number % every; i < min(len(moments), 60); i += every {
		moment := moments[i]
		script := script.New()
		script.Hush()
		arrange(script, moment)
		got := tell(t, script, s.lines)
		from := max(len(s.told)-len(got), 0)
		if diff := cmp.Diff(strings.Join(s.told[from:], ""), strings.Join(got, "")); diff != "" {
			t.Errorf("%s, disturbed at %d (-undisturbed +disturbed)\n%s\n%s", s.name, moment, strings.Join(s.lines, "\n"), diff)
			return
		}
	}
}

// tell plays a story and returns the status after each line, from the disturbance on if there is to be one.
func tell(t *testing.T, script *script.Script, lines []string) []string {
	t.Helper()
	var told []string
	for _, line := range lines {
		if _, err := script.Run(line); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if script.World.Empty() || script.DisturbanceAhead() {
			continue
		}
		status, err := script.Run("status")
		if err != nil {
			t.Fatal(err)
		}
		if line != "settle" && !strings.HasPrefix(line, "advance") {
			status = leftovers.ReplaceAllString(labelling.ReplaceAllString(onTheWay.ReplaceAllString(status, "revision"), ""), "")
		}
		told = append(told, line+"\n"+sameAfterCrash(status)+"\n")
	}
	return told
}

var (
	goingOn = regexp.MustCompile(`(Progressing) .*(NewReplicaSetCreated|FoundNewReplicaSet|ReplicaSetUpdated|ReplicaSetNotAvailable|RolloutRetry|RolloutResumed) .*`)
	since   = regexp.MustCompile(` at \w+:`)
	// onTheWay is what is known of pods' labels, which a pass more may find out earlier.
	onTheWay = regexp.MustCompile(`ephemeral-metadata-pods .*? revision`)
	// labelling is whether pods carry their labels, which a pass more may find out earlier, too.
	labelling = regexp.MustCompile(`(?m)^phase +(Healthy|Progressing pod labels and annotations are still being updated)\n|^Healthy .*\n`)
	// timed is when an update ended, which may be when all pods are available for a moment only, and that it was held for no time.
	timed = regexp.MustCompile(`(?m)(^duration +from \w+, to )\w+|, held for 0s`)
	// leftovers are what the Experiment of a step has. When it is over it asks once a second whether traffic still goes there, and a pass
	// more may find out earlier that none does.
	leftovers = regexp.MustCompile(`(?m)^\S+-\d+-\d+(-\d+)?-\w+ +(selects|\d+ pods wanted).*\n|^  \S+ +\w+, \d+ of \d+ pods available.*\n`)
)

// sameAfterCrash leaves out what a crash may change: which of several simultaneous events the condition Progressing names, and when
// conditions were last written.
func sameAfterCrash(status string) string {
	return timed.ReplaceAllString(since.ReplaceAllString(goingOn.ReplaceAllString(status, "$1"), ""), "$1")
}

type story struct {
	name  string
	lines []string

	number int
	// told is its status after each line, undisturbed.
	told []string
	// passes is how many there were on the way, between are the writes with which one began, and within are the others.
	passes          int
	between, within []int
}

// stories are the transcripts' inputs, each from its rollout on.
func stories(t *testing.T) []story {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all []story
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		output := false
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSpace(line)
			switch {
			case line == "----":
				output = true
			case line == "":
				output = false
			case output, strings.HasPrefix(line, "#"), strings.HasPrefix(line, "events"), line == "status",
				strings.HasPrefix(line, "crash"), strings.HasPrefix(line, "stale"), strings.HasPrefix(line, "deaf"):
			case strings.HasPrefix(line, "rollout "), strings.HasPrefix(line, "experiment "):
				all = append(all, story{name: filepath.Base(path), lines: []string{line}})
			default:
				last := &all[len(all)-1]
				last.lines = append(last.lines, line)
			}
		}
	}
	return all
}
