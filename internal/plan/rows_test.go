package plan_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// concern is which rollouts can meet a trouble.
type concern int

const (
	canary concern = 1 << iota
	blueGreen
	// anyone: whether it is met has nothing to do with the strategy.
	anyone
	// later: it is about what is not there yet.
	later

	both = canary | blueGreen
)

func (c concern) String() string {
	if c&both == both {
		return "either strategy"
	}
	if c&blueGreen != 0 {
		return "blue-green"
	}
	return "canaries"
}

// troubles are what has hurt people who roll out with other controllers, by the numbers that names of tests give them: C1 and so on.
var troubles = []struct {
	about string
	whom  concern
}{
	1:  {"traffic goes to a version that has no pods, or pods go before their traffic", both},
	2:  {"a version that was superseded loses its pods without a delay", both},
	3:  {"a rollback within its window sends everything to the first pod", both},
	4:  {"an abort or rollback with dynamicStableScale overloads what is left", canary},
	5:  {"conflicts and crashes leave an update where it is", both},
	6:  {"decisions by what a cache showed last", both},
	7:  {"a controller that is slow with many rollouts", anyone},
	8:  {"autoscalers, and sizes that change in mid-flight", both},
	9:  {"new revisions because another controller computes another hash", anyone},
	10: {"an update that was aborted cannot be tried again, or promoted", both},
	11: {"a Degraded rollout that is written again and again, or never reconciled again", both},
	12: {"AWS load balancers that are behind", anyone},
	13: {"AWS request limits", anyone},
	14: {"a dashboard that anybody may use", anyone},
	15: {"a dashboard that is slow", anyone},
	16: {"what is wrong with a spec is told late, and bit by bit", both},
	17: {"controllers and GitOps tools that undo each other's writes", canary},
	18: {"a metric without data", anyone},
	19: {"what becomes of an analysis that could not tell", both},
	20: {"analyses that pass too early, or by dry runs", anyone},
	21: {"ConfigMaps and Secrets that do not go back with their version", later},
	22: {"going back outside the window", both},
	23: {"notifications", anyone},
	24: {"metrics without end", anyone},
	25: {"header and mirror routes that stay behind", canary},
	26: {"experiments that get in each other's way", canary},
	27: {"a change of size, or a broken stable version, that stops traffic from moving", canary},
	28: {"switching between the strategies", both},
	29: {"restarts that take too many pods", both},
	30: {"more pods than maxSurge allows", canary},
	31: {"a deadline that passes while nothing could be done, or never", both},
	32: {"a status that does not say why", both},
	33: {"two leaders, or none", anyone},
	34: {"a Deployment that hands over", both},
	35: {"plugins", anyone},
	36: {"a canary Ingress that is missing, or has paths that it should not have", canary},
	37: {"Istio: names with dots, foreign subsets and fields, weights that flap", canary},
	38: {"which Service ping is, and which pong", canary},
	39: {"Jobs that Services and autoscalers take for the application", anyone},
	40: {"labels that hundreds of pods are to get", both},
	41: {"rollouts that go together", later},
	42: {"jumping to a step", later},
	43: {"hours in which nothing is released", later},
	44: {"users who stay with a version", later},
	45: {"rights that are too wide", anyone},
	46: {"StatefulSets and DaemonSets", later},
	47: {"a command line for scripts", anyone},
	48: {"arguments of analyses", anyone},
	49: {"autoscalers that are cloned, which one ReplicaSet a version spares everybody", later},
	50: {"a failed update that keeps the next one from beginning", both},
}

// TestEveryTroubleHasATest: the number of each stands in the name of a test, in that of a transcript, or in the title of a story in one,
// for each strategy that can meet it.
func TestEveryTroubleHasATest(t *testing.T) {
	shown := shownByTests(t)
	for n, trouble := range troubles[1:] {
		number := fmt.Sprintf("C%d", n+1)
		has := shown[number]
		switch {
		case trouble.about == "":
			t.Errorf("%s is missing from the list", number)
		case trouble.whom == later && has != 0:
			t.Errorf("%s (%s) has a test, so it is not for later: say who can meet it", number, trouble.about)
		case trouble.whom == anyone && has == 0:
			t.Errorf("%s (%s) has no test", number, trouble.about)
		case trouble.whom&both&^has&both != 0:
			t.Errorf("%s (%s) has no test for %s", number, trouble.about, trouble.whom&^has)
		}
		delete(shown, number)
	}
	for number := range shown {
		t.Errorf("%s is in the name of a test, but in no list", number)
	}
}

var (
	numbers   = regexp.MustCompile(`C[0-9]+`)
	functions = regexp.MustCompile(`(?m)^func Test\w+`)
	titles    = regexp.MustCompile(`(?m)^(# .*\n)+`)
)

// shownByTests are the numbers in names of tests anywhere in the module, with the strategies that these are about.
func shownByTests(t *testing.T) map[string]concern {
	t.Helper()
	shown := map[string]concern{}
	show := func(name string, whom concern) {
		for _, number := range numbers.FindAllString(name, -1) {
			shown[number] |= whom
		}
	}
	err := filepath.WalkDir("../..", func(path string, _ fs.DirEntry, err error) error {
		test, transcript := strings.HasSuffix(path, "_test.go"), filepath.Base(filepath.Dir(path)) == "testdata" && filepath.Ext(path) == ".txt"
		if err != nil || !test && !transcript {
			return err
		}
		text, err := os.ReadFile(path)
		if test {
			for _, name := range functions.FindAllString(string(text), -1) {
				show(name, strategyOf(strings.Contains(name, "BlueGreen")))
			}
			return err
		}
		for name, whom := range storiesIn(string(text)) {
			show(filepath.Base(path)+name, whom)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return shown
}

func strategyOf(isBlueGreen bool) concern {
	if isBlueGreen {
		return blueGreen
	}
	return canary
}

// storiesIn are the titles of the stories of a transcript, and whose they are: that of the last rollout before the next title. One that
// switches is about both.
func storiesIn(text string) map[string]concern {
	stories := map[string]concern{}
	whom := canary
	heads := titles.FindAllStringIndex(text, -1)
	for i, head := range heads {
		end := len(text)
		if i+1 < len(heads) {
			end = heads[i+1][0]
		}
		for line := range strings.Lines(text[head[1]:end]) {
			switch {
			case strings.HasPrefix(line, "rollout "):
				whom = strategyOf(strings.Contains(line, " blueGreen="))
			case strings.HasPrefix(line, "set blueGreen "), strings.HasPrefix(line, "set canary "):
				whom = both
			}
		}
		stories[text[head[0]:head[1]]] |= whom
	}
	return stories
}
