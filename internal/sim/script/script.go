package script

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/sim"
)

// Script runs a world by lines that read like what a person would say, and tells what happens in lines that a person can read.
// internal/plan/testdata has the examples.
type Script struct {
	World      *sim.World
	verbs      map[string]func(s *Script, args []string) (answer string, err error)
	controller *sim.Controller
	teller     teller
	crashAfter int
	stale      sim.View
	// decide is another engine, nil for the one there is.
	decide func(plan.Observed) plan.Plan
	// byHand: nothing happens but what lines say.
	byHand bool
	// plugins are what step plugins answer, by their names.
	plugins map[string]sim.StepReply
	deaf    time.Duration

	// disorder that was arranged beforehand: a crash at a write, a stale view at a pass; negative for none.
	crashAtWrite, staleAtPass int
	oldView                   sim.View
	writes, passes            int
	firstWrites               []int
}

// New returns a script without a Rollout yet, decided by plan.Next.
func New() *Script {
	s := &Script{verbs: verbs(), crashAtWrite: -1, staleAtPass: -1}
	s.begin()
	return s
}

// begin starts a new world for a new story.
func (s *Script) begin() {
	s.World = sim.New(sim.Options{PodStart: 10 * time.Second, RoundTrip: !s.teller.hushed})
	s.World.Watch = func() { s.teller.happened(s.World) }
	s.teller = teller{events: s.teller.events, hushed: s.teller.hushed}
	s.plugins = map[string]sim.StepReply{}
	s.crashAfter, s.stale, s.deaf, s.byHand = -1, sim.View{}, 0, false
	s.controller = &sim.Controller{
		Next: plan.Next,
		OnPass: func(p sim.Pass) {
			s.count(p.Outcome)
			s.teller.pass(s.World, p)
		},
		CrashAfter: s.nextCrash,
		View:       s.nextView,
		Deaf:       s.nextDeafness,
		Ask:        s.answer,
	}
	if s.decide != nil {
		s.controller.Next = s.decide
	}
	s.World.ControlExperiments(&sim.ExperimentController{
		OnPass: func(p sim.ExperimentPass) {
			s.count(p.Outcome)
			s.teller.experimentPass(s.World, p)
		},
		CrashAfter: s.nextCrash,
		View:       s.nextView,
	})
}

// count notes what a pass did.
func (s *Script) count(done sim.Outcome) {
	s.passes++
	if done.Writes > 0 {
		s.firstWrites = append(s.firstWrites, s.writes)
	}
	s.writes += done.Writes
	if done.Crashed {
		s.crashAtWrite = -1
	}
}

// Hush leaves out telling what happens, which takes longer than what happens.
func (s *Script) Hush() { s.teller.hushed = true }

// CrashAtWrite arranges for the controller to stop before the write with this number, counted from zero.
func (s *Script) CrashAtWrite(n int) { s.crashAtWrite = n }

// StaleAtPass arranges for the pass with this number to see an old view.
func (s *Script) StaleAtPass(n int, v sim.View) { s.staleAtPass, s.oldView = n, v }

// DisturbanceAhead is whether a crash or an old view that was arranged is still to come.
func (s *Script) DisturbanceAhead() bool { return s.crashAtWrite >= 0 || s.staleAtPass >= 0 }

// Passes is how many passes the controller has made.
func (s *Script) Passes() int { return s.passes }

// Writes is how many writes the controller has done.
func (s *Script) Writes() int { return s.writes }

// FirstWrites are the numbers of those with which a pass began.
func (s *Script) FirstWrites() []int { return s.firstWrites }

func (s *Script) nextCrash() int {
	n := s.crashAfter
	s.crashAfter = -1
	if s.crashAtWrite >= s.writes {
		n = s.crashAtWrite - s.writes
	}
	return n
}

func (s *Script) nextView() sim.View {
	v := s.stale
	s.stale = sim.View{}
	if s.passes == s.staleAtPass {
		s.staleAtPass = -1 // a reconcile that does not find its object is requeued and does not count
		v = s.oldView
	}
	return v
}

// Run carries out a line and returns what happened since.
func (s *Script) Run(line string) (string, error) {
	words, err := split(line)
	if err != nil || len(words) == 0 {
		return "", err
	}
	verb, rest := words[0], words[1:]
	do, ok := s.verbs[verb]
	if !ok {
		return "", fmt.Errorf("unknown verb %q", verb)
	}
	if s.World.Empty() && verb != "rollout" && verb != "experiment" && verb != "events" {
		return "", errors.New("begin with a rollout, or an experiment")
	}
	answer, err := do(s, rest)
	if err != nil {
		return "", fmt.Errorf("%s: %w", line, err)
	}
	if !instant[verb] && !s.byHand {
		s.World.Run(s.World.Now())
	}
	return s.teller.flush(s.World) + answer, nil
}

// instant verbs only arrange or ask something: nothing happens on their account until the next line.
var instant = map[string]bool{"crash": true, "deaf": true, "stale": true, "events": true, "plugin": true}

// verbs are what a line may begin with. They are in a function, so that programs that play worlds without scripts link none of this.
func verbs() map[string]func(s *Script, args []string) (answer string, err error) {
	return map[string]func(*Script, []string) (string, error){
		"rollout": (*Script).create,

		"experiment": (*Script).experiment,
		"beside":     (*Script).beside,
		"edit":       (*Script).edit,
		"again":      (*Script).again,
		"run":        (*Script).run,

		"experiments": (*Script).refuseExperiments,

		"taken": (*Script).takeName,

		"set":      (*Script).set,
		"advance":  (*Script).advance,
		"settle":   (*Script).settle,
		"scale":    withNumber(func(w *sim.World, n int) { w.Scale(int32(n)) }),
		"quota":    withNumber(func(w *sim.World, n int) { w.SetQuota(n) }),
		"pause":    plain(func(w *sim.World) { w.Pause(true) }),
		"resume":   plain(func(w *sim.World) { w.Pause(false) }),
		"abort":    plain((*sim.World).Abort),
		"retry":    plain((*sim.World).Retry),
		"promote":  (*Script).promote,
		"break":    withImage(func(w *sim.World, image string) { w.SetFate(image, sim.Fate{Broken: true}) }),
		"mend":     withImage(func(w *sim.World, image string) { w.SetFate(image, sim.Fate{Start: w.PodStart}) }),
		"unready":  withPods(func(w *sim.World, image string, n int) { w.Unready(image, n, 0) }),
		"flap":     withPods(func(w *sim.World, image string, n int) { w.Unready(image, n, 5*time.Second) }),
		"kill":     withPods((*sim.World).Kill),
		"delete":   (*Script).remove,
		"renew":    plain((*sim.World).Renew),
		"refuse":   (*Script).refuse,
		"allow":    plain(func(w *sim.World) { w.Refuse(""); w.RefuseReleases("") }),
		"labels":   (*Script).refuseLabels,
		"take":     (*Script).take,
		"restart":  (*Script).restart,
		"budget":   (*Script).budget,
		"workload": (*Script).workload,
		"rename":   (*Script).rename,
		"annotate": (*Script).annotate,
		"service":  (*Script).createService,
		"route":    (*Script).restoreRoute,
		"point":    (*Script).pointService,
		"template": (*Script).template,
		"analysis": (*Script).analysis,
		"plugin":   (*Script).plugin,
		"jump":     (*Script).jump,
		"crash":    (*Script).crash,
		"deaf":     (*Script).deafen,
		"by":       (*Script).beginByHand,
		"look":     (*Script).look,
		"lead":     plain((*sim.World).Lead),
		"sync":     (*Script).syncSet,
		"start":    (*Script).startPod,
		"verdict":  (*Script).verdict,
		"outcome":  (*Script).outcome,
		"bend":     (*Script).bend,
		"stale":    (*Script).staleView,

		"terminated": (*Script).terminated,

		"events": (*Script).events,
		"status": func(s *Script, _ []string) (string, error) { return s.teller.status(s.World), nil },
	}
}

func plain(do func(*sim.World)) func(*Script, []string) (string, error) {
	return func(s *Script, _ []string) (string, error) {
		do(s.World)
		return "", nil
	}
}

func withNumber(do func(*sim.World, int)) func(*Script, []string) (string, error) {
	return func(s *Script, args []string) (string, error) {
		n, err := strconv.Atoi(last(args))
		if err == nil {
			do(s.World, n)
		}
		return "", err
	}
}

func withImage(do func(*sim.World, string)) func(*Script, []string) (string, error) {
	return func(s *Script, args []string) (string, error) {
		do(s.World, last(args))
		return "", nil
	}
}

// withPods reads "2 of v1".
func withPods(do func(*sim.World, string, int)) func(*Script, []string) (string, error) {
	return func(s *Script, args []string) (string, error) {
		if len(args) != 3 {
			return "", errors.New(`write for example "2 of v1"`)
		}
		n, err := strconv.Atoi(args[0])
		if err == nil {
			do(s.World, args[2], n)
		}
		return "", err
	}
}

func (s *Script) create(args []string) (string, error) {
	s.begin()
	if err := s.establish(args); err != nil {
		return "", err
	}
	s.World.Control(s.controller)
	return "", nil
}

// establish creates a Rollout, and what its line says that there is besides.
func (s *Script) establish(args []string) error {
	if len(args) == 0 {
		return errors.New("a rollout needs a name")
	}
	ro := sim.NewRollout(args[0], "v1", 1)
	ro.Spec.Replicas = nil
	for _, arg := range args[1:] {
		key, value, _ := strings.Cut(arg, "=")
		if key == "start" {
			start, err := time.ParseDuration(value)
			if err != nil {
				return err
			}
			s.World.PodStart = start
			continue
		}
		if key == "lag" {
			lag, err := time.ParseDuration(value)
			if err != nil {
				return err
			}
			s.World.SetLag = lag
			continue
		}
		if key == "services" {
			s.createServices(value)
			continue
		}
		if key == "router" {
			if err := s.World.Route(ro, value); err != nil {
				return err
			}
			continue
		}
		if key == "template" {
			s.World.CreateTemplate(value)
			continue
		}
		if err := setField(ro, key, value); err != nil {
			return err
		}
	}
	s.World.Create(ro)
	return nil
}

func (s *Script) set(args []string) (string, error) {
	if len(args) < 1 {
		return "", errors.New("set what?")
	}
	var err error
	s.World.Edit(func(ro *v1alpha1.Rollout) { err = setField(ro, args[0], strings.Join(args[1:], " ")) })
	return "", err
}

// advance lets an amount of time pass. What follows a comma is for the reader.
func (s *Script) advance(args []string) (string, error) {
	d, err := time.ParseDuration(strings.TrimSuffix(first(args), ","))
	if err == nil {
		s.World.Run(s.World.Now().Add(d))
	}
	return "", err
}

// settle lets things happen until nothing more will by itself.
func (s *Script) settle([]string) (string, error) {
	if !s.World.Settle(24 * time.Hour) {
		return "", errors.New("things still happen after a day")
	}
	return "", nil
}

// jump moves the clock as if the controller had not run for a while.
func (s *Script) jump(args []string) (string, error) {
	d, err := time.ParseDuration(first(args))
	s.World.Jump(d)
	return "", err
}

func (s *Script) promote(args []string) (string, error) {
	if first(args) == "full" {
		s.World.PromoteFull()
		return "", nil
	}
	s.World.Promote()
	return "", nil
}

func (s *Script) remove(args []string) (string, error) {
	switch first(args) {
	case "rollout":
		s.World.Delete()
	case "replicaset":
		s.World.DeleteReplicaSet(last(args))
	case "service":
		s.World.DeleteService(last(args))
	case "template":
		s.World.DeleteTemplate(last(args))
	case "experiment":
		s.World.DeleteExperiment(s.named(last(args)))
	case "run":
		s.World.DeleteRun(last(args))
	case "route":
		s.World.DeleteRoute(last(args), "web")
	case "analysis":
		s.World.DeleteRuns(runKinds[last(args)])
	default:
		return "", errors.New("delete rollout, or delete replicaset v1")
	}
	return "", nil
}

func (s *Script) refuse(args []string) (string, error) {
	if first(args) == "releases" {
		s.World.RefuseReleases(strings.Join(args[1:], " "))
		return "", nil
	}
	s.World.Refuse(last(args))
	return "", nil
}

// refuseLabels is the verb "labels refused because" or "labels allowed".
func (s *Script) refuseLabels(args []string) (string, error) {
	switch first(args) {
	case "refused":
		s.World.RefuseLabels(strings.Join(args[1:], " "))
	case "allowed":
		s.World.RefuseLabels("")
	default:
		return "", errors.New(`write "labels refused because" or "labels allowed"`)
	}
	return "", nil
}

// take gives someone else the name that an image's ReplicaSet would have.
func (s *Script) take(args []string) (string, error) {
	s.World.Take(s.World.NameFor(last(args)))
	return "", nil
}

// rename gives an image's ReplicaSet another hash, as another controller may have computed it.
func (s *Script) rename(args []string) (string, error) {
	s.World.Relabel(args[0], func(rs *appsv1.ReplicaSet) {
		rs.Labels[v1alpha1.PodTemplateHashLabel] = last(args)
		rs.Spec.Template.Labels[v1alpha1.PodTemplateHashLabel] = last(args)
	})
	s.teller.call(last(args), args[0])
	s.World.EditStatus(func(st *v1alpha1.RolloutStatus) { st.StableRS, st.CurrentPodHash = last(args), last(args) })
	return "", nil
}

func (s *Script) annotate(args []string) (string, error) {
	key, value, _ := strings.Cut(last(args), "=")
	s.World.Edit(func(ro *v1alpha1.Rollout) {
		if ro.Annotations == nil {
			ro.Annotations = map[string]string{}
		}
		ro.Annotations[key] = value
	})
	return "", nil
}

// events shows events from now on, or hides them: "events off".
func (s *Script) events(args []string) (string, error) {
	s.teller.events = first(args) != "off"
	return "", nil
}

func first(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return words[0]
}

func last(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return words[len(words)-1]
}

// split cuts a line into words; double quotes hold words together.
func split(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	quoted, begun := false, false
	for _, r := range line {
		switch {
		case r == '"':
			quoted, begun = !quoted, true
		case r == ' ' && !quoted:
			if begun {
				words = append(words, word.String())
			}
			word.Reset()
			begun = false
		default:
			word.WriteRune(r)
			begun = true
		}
	}
	if quoted {
		return nil, fmt.Errorf("a quote is not closed: %s", line)
	}
	if begun {
		words = append(words, word.String())
	}
	return words, nil
}
