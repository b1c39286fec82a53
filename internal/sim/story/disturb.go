package story

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-delivery/sluice/internal/sim"
)

// CrashAnywhere plays every transcript again and again, with the controller stopping after the first write, the second, and so on.
// Wherever it stopped, everything ends as it would have.
func CrashAnywhere(t *testing.T) {
	t.Helper()
	disturb(t, 1, (*sim.Script).Writes, (*sim.Script).CrashAtWrite)
}

var staleEvery = flag.Int("stale-every", 12, "let one in so many passes of every story see old objects, each in a run of its own")

// StaleAnywhere does the same with a pass that sees objects of one kind, or of all, as they were some changes ago.
func StaleAnywhere(t *testing.T, views map[string]sim.View) {
	t.Helper()
	for name, view := range views {
		t.Run(name, func(t *testing.T) {
			disturb(t, *staleEvery, (*sim.Script).Passes, func(s *sim.Script, n int) { s.StaleAtPass(n, view) })
		})
	}
}

// disturb plays every story once undisturbed, and once for each moment that there was in it, or one in so many, disturbed then.
func disturb(t *testing.T, every int, moments func(*sim.Script) int, arrange func(script *sim.Script, moment int)) {
	t.Helper()
	every *= fewer
	for i, story := range stories(t) {
		undisturbed := sim.NewScript()
		undisturbed.Hush()
		want := tell(t, undisturbed, story.lines)
		for moment := i % every; moment < min(moments(undisturbed), 60); moment += every {
			script := sim.NewScript()
			script.Hush()
			arrange(script, moment)
			got := tell(t, script, story.lines)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, disturbed at %d (-undisturbed +disturbed)\n%s\n%s", story.name, moment, strings.Join(story.lines, "\n"), diff)
				break
			}
		}
	}
}

// tell plays a story and returns the status after each line.
func tell(t *testing.T, script *sim.Script, lines []string) string {
	t.Helper()
	var out strings.Builder
	for _, line := range lines {
		if _, err := script.Run(line); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if script.World.Empty() {
			continue
		}
		status, err := script.Run("status")
		if err != nil {
			t.Fatal(err)
		}
		if line != "settle" && !strings.HasPrefix(line, "advance") {
			status = onTheWay.ReplaceAllString(status, "revision")
		}
		out.WriteString(line + "\n" + sameAfterCrash(status) + "\n")
	}
	return out.String()
}

var (
	goingOn = regexp.MustCompile(`(Progressing) .*(NewReplicaSetCreated|FoundNewReplicaSet|ReplicaSetUpdated|ReplicaSetNotAvailable|RolloutRetry|RolloutResumed) .*`)
	since   = regexp.MustCompile(` at \w+:`)
	// onTheWay is what is known of pods' labels, which a pass more may find out earlier.
	onTheWay = regexp.MustCompile(`ephemeral-metadata-pods .*? revision`)
)

// sameAfterCrash leaves out what a crash may change: which of several things that happen at once the condition Progressing tells
// of, and when conditions were last written.
func sameAfterCrash(status string) string {
	return since.ReplaceAllString(goingOn.ReplaceAllString(status, "$1"), "")
}

type story struct {
	name  string
	lines []string
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
				strings.HasPrefix(line, "crash"), strings.HasPrefix(line, "stale"):
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
