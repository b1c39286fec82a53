package explore

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/analysis/measure"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/experiment"
	"github.com/sluice-delivery/sluice/internal/plan"
)

// The rules of this package say what no engine may do. They leave it open which of several safe ways an engine takes, and when: a guard that is gone
// may cost nothing but an update that is slower, or a request that was not needed. So what the engines decide in the first histories of each kind is
// recorded as a hash, and anyone who changes a decision sees that, and in how many histories. It is no verdict: -rewrite records what is decided now.

// decided is what the engines decided in one history: hashes of all that they do, and of the words that they say it in.
type decided struct{ does, says uint32 }

func (d decided) String() string { return fmt.Sprintf("%08x %08x", d.does, d.says) }

// decisions hashes what the engines decide in one history.
type decisions struct {
	does, says interface {
		io.Writer
		Sum32() uint32
	}
}

func newDecisions() *decisions { return &decisions{fnv.New32a(), fnv.New32a()} }

func (d *decisions) sum() decided { return decided{d.does.Sum32(), d.says.Sum32()} }

// subject is the engines as they are, whose decisions are hashed.
func (d *decisions) subject() Subject {
	return Subject{
		Honest: true,
		Engine: func(o plan.Observed) plan.Plan {
			p := plan.Next(o)
			d.plan(p)
			return p
		},
		Experiment: func(o experiment.Observed) experiment.Plan {
			p := experiment.Next(o)
			d.changes(p.Grow, p.Route, p.Judge, p.Shrink)
			d.add(p.Record, p.NeedsRollout)
			d.journal(change.Journal{Events: slices.Concat(p.Events, p.RolloutEvents), Notes: p.Notes, Wake: p.Wake})
			return p
		},
		Measure: func(o measure.Observed) measure.Plan {
			p := measure.Next(o)
			d.add(p.NeedsArguments, p.Cancel, p.Stop, p.Forget, p.Record, p.Measure, p.Delete)
			d.journal(p.Journal)
			return p
		},
	}
}

func (d *decisions) plan(p plan.Plan) {
	d.changes(p.Grow, p.Route, p.Judge, p.Shrink, p.Label)
	if p.Record != nil {
		d.status(p.Record)
	}
	d.add(p.Calls, p.Heard)
	d.journal(change.Journal{Events: p.Events, Notes: p.Notes, Needs: p.Needs, Wake: p.Wake})
}

// put writes into a hash, which takes everything.
func (d *decisions) put(into io.Writer, format string, args ...any) {
	if _, err := fmt.Fprintf(into, format, args...); err != nil {
		panic(err)
	}
}

// add takes values in that are data.
func (d *decisions) add(values ...any) {
	for _, v := range values {
		text, err := json.Marshal(v)
		if err != nil {
			panic(fmt.Sprintf("a decision cannot be written as JSON: %v", err))
		}
		d.put(d.does, "%s", text)
	}
}

func (d *decisions) changes(lists ...[]change.Change) {
	for _, list := range lists {
		for _, c := range list {
			d.put(d.does, "%T", c)
			d.add(c)
		}
		d.put(d.does, "\n")
	}
}

// status takes in what is recorded. Its messages are words.
func (d *decisions) status(r *plan.Record) {
	status := r.To.Status.DeepCopy()
	d.put(d.says, "%v\n", status.Message)
	status.Message = ""
	for i := range status.Conditions {
		d.put(d.says, "%v\n", status.Conditions[i].Message)
		status.Conditions[i].Message = ""
	}
	d.add(status, r.To.Annotations, r.To.Spec.Replicas, r.CanWait)
}

func (d *decisions) journal(j change.Journal) {
	for _, e := range j.Events {
		d.put(d.does, "%v %v\n", e.Reason, e.Warning)
		d.put(d.says, "%v\n", e.Message)
	}
	for _, n := range j.Notes {
		d.put(d.does, "%v %v\n", n.Topic, n.Promise)
		d.put(d.says, "%v %v\n", n.Text, n.Reason)
	}
	for _, n := range j.Needs {
		d.put(d.does, "%T%v\n", n, n)
	}
	d.put(d.does, "%v\n", j.Wake.UTC())
}

// decisionFile compares decisions with the recorded ones of a kind of history, and records them with -rewrite.
type decisionFile struct {
	file string
	// before are those of the file: the first of them is that of seed 1.
	before []decided

	mu      sync.Mutex
	now     map[uint64]decided
	differs []uint64
	// words: nothing but words differs.
	words bool
}

// recordedOf reads what is recorded of a kind, nil if nothing is to be.
func recordedOf(t *testing.T, kind Trial) *decisionFile {
	t.Helper()
	if kind.Shell || kind.Hostile {
		return nil // a process that plans again after a conflict depends on more than the engines
	}
	r := &decisionFile{file: filepath.Join("testdata", "decisions", kind.name()), now: map[uint64]decided{}, words: true}
	text, err := os.ReadFile(r.file)
	if err != nil && !*rewrite {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var d decided
		if _, err := fmt.Sscanf(line, "%x %x\n", &d.does, &d.says); err != nil && !*rewrite {
			t.Fatalf("%s: %q: %v", r.file, line, err)
		}
		r.before = append(r.before, d)
	}
	return r
}

// name is what the file of a kind is called.
func (t Trial) name() string {
	name := "plain"
	for _, part := range []struct {
		is   bool
		name string
	}{{t.Experiments, "experiments"}, {t.Routed, "routed"}, {t.Hands, "hands"}, {t.Plugins, "plugins"}} {
		if part.is {
			name += "-" + part.name
		}
	}
	return strings.TrimPrefix(name, "plain-")
}

// add compares the decisions of a history, and reports whether they are the recorded ones, or none are recorded.
func (r *decisionFile) add(seed uint64, d decided) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if *rewrite {
		r.now[seed] = d
		return true
	}
	if seed == 0 || seed > uint64(len(r.before)) {
		return true
	}
	before := r.before[seed-1]
	if d == before {
		return true
	}
	r.words = r.words && d.does == before.does
	r.differs = append(r.differs, seed)
	return false
}

// conclude says which histories differ.
func (r *decisionFile) conclude(t *testing.T, kind Trial) {
	t.Helper()
	if *rewrite {
		r.write(t)
		return
	}
	if len(r.differs) == 0 {
		return
	}
	slices.Sort(r.differs)
	what := "decide something else than"
	if r.words {
		what = "say what they decide in other words than"
	}
	kind.Seed = r.differs[0]
	t.Errorf("%d histories %s %s has it, from seed %d on.\nTo see it, compare with the commit before: go test ./internal/sim/explore -run TestReplay -v %s\n"+
		"To record it: go test ./internal/sim/explore -run '^%s$' -rewrite", len(r.differs), what, r.file, kind.Seed, kind.flags(), t.Name())
}

// write writes the decisions of the seeds from 1 on.
func (r *decisionFile) write(t *testing.T) {
	t.Helper()
	var text strings.Builder
	for seed := uint64(1); ; seed++ {
		d, ok := r.now[seed]
		if !ok {
			break
		}
		fmt.Fprintln(&text, d)
	}
	if text.Len() == 0 {
		t.Fatal("-rewrite records histories from -first 1 on")
	}
	if err := os.MkdirAll(filepath.Dir(r.file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(r.file, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestDecisionsAreSeen proves that a decision that differs changes its hash, and other words change theirs.
func TestDecisionsAreSeen(t *testing.T) {
	of := func(p plan.Plan) decided {
		d := newDecisions()
		d.plan(p)
		return d.sum()
	}
	made := func(alter func(*plan.Plan)) plan.Plan {
		ro := &v1alpha1.Rollout{}
		ro.Status.Conditions = []v1alpha1.RolloutCondition{{Type: "Progressing"}}
		p := plan.Plan{
			Shrink: []change.Change{change.DeleteReplicaSet{ReplicaSet: &appsv1.ReplicaSet{}}},
			Record: &plan.Record{From: ro.DeepCopy(), To: ro},
			Events: []change.Event{{Reason: "One"}}, Notes: []change.Note{{Topic: change.TopicWait}}, Needs: []change.Need{change.NeedLiveServices{}},
		}
		alter(&p)
		return p
	}
	is := of(made(func(*plan.Plan) {}))
	for name, alter := range map[string]func(*plan.Plan){
		"another kind of change": func(p *plan.Plan) { p.Shrink[0] = change.CreateReplicaSet{ReplicaSet: &appsv1.ReplicaSet{}} },
		"no change":              func(p *plan.Plan) { p.Shrink = nil },
		"the change earlier":     func(p *plan.Plan) { p.Grow, p.Shrink = p.Shrink, nil },
		"another object": func(p *plan.Plan) {
			p.Shrink[0] = change.DeleteReplicaSet{ReplicaSet: &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "b"}}}
		},
		"another status":           func(p *plan.Plan) { p.Record.To.Status.Abort = true },
		"another annotation":       func(p *plan.Plan) { p.Record.To.Annotations = map[string]string{"a": "b"} },
		"a record that can wait":   func(p *plan.Plan) { p.Record.CanWait = true },
		"no record":                func(p *plan.Plan) { p.Record = nil },
		"another reason":           func(p *plan.Plan) { p.Events[0].Reason = "Two" },
		"a warning":                func(p *plan.Plan) { p.Events[0].Warning = true },
		"another topic":            func(p *plan.Plan) { p.Notes[0].Topic = change.TopicGrow },
		"a promise":                func(p *plan.Plan) { p.Notes[0].Promise.Name = "x" },
		"another need":             func(p *plan.Plan) { p.Needs[0] = change.NeedLiveRouting{} },
		"a reconcile":              func(p *plan.Plan) { p.Wake = time.Unix(1, 0) },
		"a question to a plugin":   func(p *plan.Plan) { p.Calls = []change.StepCall{{}} },
		"an answer of no use":      func(p *plan.Plan) { p.Heard = 1 },
		"labels of running pods":   func(p *plan.Plan) { p.Label = []change.Change{change.EvictPod{Pod: &corev1.Pod{}}} },
		"another condition's type": func(p *plan.Plan) { p.Record.To.Status.Conditions[0].Type = "Healthy" },
	} {
		if now := of(made(alter)); now.does == is.does {
			t.Errorf("%s is not seen", name)
		}
	}
	for name, alter := range map[string]func(*plan.Plan){
		"a message":             func(p *plan.Plan) { p.Record.To.Status.Message = "x" },
		"a condition's message": func(p *plan.Plan) { p.Record.To.Status.Conditions[0].Message = "x" },
		"an event's message":    func(p *plan.Plan) { p.Events[0].Message = "x" },
		"a note's text":         func(p *plan.Plan) { p.Notes[0].Text = "x" },
		"a note's reason":       func(p *plan.Plan) { p.Notes[0].Reason = "x" },
	} {
		if now := of(made(alter)); now.says == is.says || now.does != is.does {
			t.Errorf("%s changes %s to %s: it is words", name, is, now)
		}
	}
}
