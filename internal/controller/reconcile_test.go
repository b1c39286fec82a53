package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/experiment"
)

// scripted is a kind of object of which a test says what becomes of its passes. What is seen is told by words, and so is what is planned.
type scripted struct {
	observed error
	// needs is what each plan needs until it is seen.
	needs string
	// outcomes are those of the plans that are carried out, in their order.
	outcomes []error
	// heeds: the engine decides what a refusal means.
	heeds bool
	did   []string
}

func (s *scripted) observe(context.Context, types.NamespacedName) ([]string, error) {
	return []string{"cached"}, s.observed
}

func (*scripted) next(seen []string) string { return strings.Join(seen, " and ") }

func (s *scripted) look(_ context.Context, seen *[]string, p string) (bool, error) {
	if s.needs == "" || strings.Contains(p, s.needs) {
		return false, nil
	}
	s.did = append(s.did, "look")
	*seen = append(*seen, s.needs)
	return true, nil
}

func (s *scripted) carryOut(_ context.Context, _ []string, p string) (reconcile.Result, error) {
	s.did = append(s.did, p)
	if len(s.outcomes) == 0 {
		return reconcile.Result{RequeueAfter: time.Minute}, nil
	}
	err := s.outcomes[0]
	s.outcomes = s.outcomes[1:]
	return reconcile.Result{RequeueAfter: time.Minute}, err
}

func (s *scripted) heed(seen *[]string, r refusal) bool {
	*seen = append(*seen, r.Name)
	return s.heeds
}

func (s *scripted) gone(context.Context, types.NamespacedName) (time.Duration, error) {
	s.did = append(s.did, "gone")
	return 0, nil
}

// What becomes of a pass is the same for all kinds.
func TestAPass(t *testing.T) {
	things := schema.GroupResource{Resource: "things"}
	taken := &refusal{experiment.AnalysisRun, change.CreateFailure{Name: "taken"}}
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		kind scripted
		// after is when it is requeued.
		after time.Duration
		did   string
		err   error
	}{
		"what is planned is done":                                       {scripted{}, time.Minute, "cached", nil},
		"what is needed is looked at first":                             {scripted{needs: "live"}, time.Minute, "look, cached and live", nil},
		"an object that is gone":                                        {scripted{observed: apierrors.NewNotFound(things, "web")}, 0, "gone", nil},
		"a cache that is behind":                                        {scripted{observed: errBehind}, 100 * time.Millisecond, "", nil},
		"an API server that does not answer":                            {scripted{observed: broken}, 0, "", broken},
		"a conflict":                                                    {scripted{outcomes: []error{apierrors.NewConflict(things, "web", nil)}}, 100 * time.Millisecond, "cached", nil},
		"an object of the plan that is gone":                            {scripted{outcomes: []error{fmt.Errorf("patch: %w", apierrors.NewNotFound(things, "set"))}}, 100 * time.Millisecond, "cached", nil},
		"a change that is refused is tried again when people had time":  {scripted{outcomes: []error{withheld{{err: broken}}}}, refusedRetry, "cached", nil},
		"any other error":                                               {scripted{outcomes: []error{broken}}, 0, "cached", broken},
		"an object that is not taken is decided on, after another look": {scripted{needs: "live", heeds: true, outcomes: []error{taken}}, time.Minute, "look, cached and live, look, cached and taken and live", nil},
		"an object that is not taken is an error where no engine knows": {scripted{outcomes: []error{taken}}, 0, "cached", taken},
		"several that are not taken are decided on one after the other": {scripted{heeds: true, outcomes: []error{taken, taken}}, time.Minute, "cached, cached and taken, cached and taken and taken", nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWriter("thing", Deps{Clock: clocktesting.NewFakePassiveClock(time.Unix(1000, 0)), Log: slog.New(slog.DiscardHandler)})
			key := types.NamespacedName{Namespace: "shop", Name: "web"}
			w.memory.recorded(key, w.clock.Now())
			result, err := reconcileObject(t.Context(), &w, &c.kind, key)
			if !errors.Is(err, c.err) || result.RequeueAfter != c.after {
				t.Errorf("requeued after %s, error %v; want %s and %v", result.RequeueAfter, err, c.after, c.err)
			}
			if did := strings.Join(c.kind.did, ", "); did != c.did {
				t.Errorf("did %q, not %q", did, c.did)
			}
			if c.did == "gone" != (len(w.memory.owners) == 0) {
				t.Errorf("remembered after the pass: %v", w.memory.owners)
			}
		})
	}
}

// An API server that refuses all holds no worker.
func TestAPassEndsWhereNothingIsTaken(t *testing.T) {
	taken := &refusal{experiment.AnalysisRun, change.CreateFailure{Name: "taken"}}
	k := &scripted{heeds: true}
	for range 2 * mostRefusals {
		k.outcomes = append(k.outcomes, taken)
	}
	w := newWriter("thing", Deps{Clock: clocktesting.NewFakePassiveClock(time.Unix(1000, 0)), Log: slog.New(slog.DiscardHandler)})
	if _, err := reconcileObject(t.Context(), &w, k, types.NamespacedName{Name: "web"}); !errors.Is(err, taken) || len(k.did) != mostRefusals+1 {
		t.Errorf("tried %d times, error %v", len(k.did), err)
	}
}
