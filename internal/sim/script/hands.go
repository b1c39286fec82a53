package script

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/sim"
)

// Hands carries out lines of scripts in Worlds, and lets nothing happen on their account. It is safe for concurrent use.
type Hands struct {
	verbs map[string]func(*Script, []string) (string, error)
}

// NewHands returns hands that know every verb that changes something.
func NewHands() Hands { return Hands{verbs()} }

// Do carries out a line.
func (h Hands) Do(w *sim.World, line string) error {
	words, err := split(line)
	if err != nil || len(words) == 0 {
		return err
	}
	s := &Script{World: w, verbs: h.verbs}
	if words[0] == "rollout" {
		return s.establish(words[1:])
	}
	do, ok := h.verbs[words[0]]
	if !ok {
		return fmt.Errorf("unknown verb %q", words[0])
	}
	if _, err := do(s, words[1:]); err != nil {
		return fmt.Errorf("%s: %w", line, err)
	}
	return nil
}

// beginByHand is the verb "by hand": from there on nothing happens by itself, but what lines say, up to one that lets time pass.
//
//	look          the controller looks, decides and acts
//	lead          another process takes the lead
//	sync v1       the ReplicaSet controller looks at the ReplicaSet of v1
//	start v1      a pod of v1 becomes ready
//	verdict 1 Failed      the first AnalysisRun comes to a phase
//	outcome 1 Failed      the first Experiment does
//	terminated    an AnalysisRun that was terminated ends
//	jump 30s      time passes
func (s *Script) beginByHand([]string) (string, error) {
	s.byHand = true
	return "", nil
}

func (s *Script) look([]string) (string, error) {
	s.World.Act()
	return "", nil
}

func (s *Script) syncSet(args []string) (string, error) {
	for _, set := range s.World.AllReplicaSets() {
		if sim.ImageOf(set.Spec.Template) == last(args) {
			s.World.Sync(set.Name)
			return "", nil
		}
	}
	return "", fmt.Errorf("there is no ReplicaSet of %q", last(args))
}

func (s *Script) startPod(args []string) (string, error) {
	for _, name := range s.World.Starting() {
		if set := s.World.ReplicaSet(name); set != nil && sim.ImageOf(set.Spec.Template) == last(args) {
			s.World.StartPod(name)
			return "", nil
		}
	}
	return "", fmt.Errorf("no pod of %q becomes ready now", last(args))
}

// verdict reads "verdict 1 Failed", outcome "outcome 1 Failed".
func (s *Script) verdict(args []string) (string, error) {
	i, err := place(args, len(s.World.Runs()))
	if err == nil {
		s.World.Judge(s.World.Runs()[i], v1alpha1.AnalysisPhase(args[1]))
	}
	return "", err
}

func (s *Script) outcome(args []string) (string, error) {
	i, err := place(args, len(s.World.Experiments()))
	if err == nil {
		s.World.JudgeExperiment(s.World.Experiments()[i], v1alpha1.AnalysisPhase(args[1]))
	}
	return "", err
}

// place reads which of a number of objects is meant, counted from one.
func place(args []string, of int) (int, error) {
	if len(args) != 2 {
		return 0, errors.New(`write for example "1 Failed"`)
	}
	n, err := strconv.Atoi(args[0])
	if err == nil && (n < 1 || n > of) {
		err = fmt.Errorf("there are %d", of)
	}
	return n - 1, err
}

func (s *Script) terminated([]string) (string, error) {
	if !s.World.Pronounces() {
		return "", errors.New("no AnalysisRun was terminated")
	}
	s.World.Pronounce()
	return "", nil
}

// bend reads "bend HTTPRoute 100".
func (s *Script) bend(args []string) (string, error) {
	n, err := strconv.ParseInt(last(args), 10, 32)
	if err != nil {
		return "", err
	}
	return "", s.World.Bend(first(args), n)
}

// Decide has another engine decide in the stories that begin from now on, as one with a fault that a story shows.
func (s *Script) Decide(next func(plan.Observed) plan.Plan) { s.decide = next }
