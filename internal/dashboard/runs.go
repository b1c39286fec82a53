package dashboard

import (
	"context"
	"errors"
	"math"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-delivery/sluice/internal/cli/live"
	"github.com/sluice-delivery/sluice/internal/view"
)

// belongs is the object that a run or an Experiment belongs to, with the page that shows it.
type belongs struct{ Kind, Name, Page string }

// analysisRunPage shows all measurements of an AnalysisRun.
func (s *Server) analysisRunPage(w http.ResponseWriter, r *http.Request, id identity) {
	name := named(r)
	draw := func(ctx context.Context) ([]fragment, error) {
		run, ok := s.cache.AnalysisRun(name)
		if !ok || !s.mayList(ctx, id.person, name.Namespace, live.AnalysisRuns) {
			return nil, errGone
		}
		next, err := s.fragmentOf("run", "analysisrun-body", struct {
			runData
			Root    string
			Now     time.Time
			Belongs belongs
		}{runOf(run, math.MaxInt), s.path(), s.Clock.Now(), ownerPage(run)})
		return []fragment{next}, err
	}
	s.showOne(w, r, id, "AnalysisRun", draw, "single")
}

// experimentPage shows an Experiment: its templates with their pods, and its analyses.
func (s *Server) experimentPage(w http.ResponseWriter, r *http.Request, id identity) {
	name := named(r)
	draw := func(ctx context.Context) ([]fragment, error) {
		o, ok := s.cache.ExperimentObjects(name)
		if !ok || !s.mayList(ctx, id.person, name.Namespace, live.Experiments) {
			return nil, errGone
		}
		o = s.visible(ctx, id.person, name.Namespace, o)
		now := s.Clock.Now()
		next, err := s.fragmentOf("run", "experiment-body", struct {
			view.Experiment
			Root    string
			Now     time.Time
			Belongs belongs
			Runs    []runData
		}{view.ExperimentOf(o, now), s.path(), now, ownerPage(o.Experiment), runsOf(o.AnalysisRuns, o.Experiment)})
		return []fragment{next}, err
	}
	s.showOne(w, r, id, "Experiment", draw, "single")
}

var errGone = errors.New("this object has been deleted")

// showOne shows the page of one object.
func (s *Server) showOne(w http.ResponseWriter, r *http.Request, id identity, noun string, draw func(context.Context) ([]fragment, error), template string) {
	name := named(r)
	if _, err := draw(r.Context()); errors.Is(err, errGone) {
		s.missing(w, r, noun, name)
		return
	}
	s.show(w, r, id, screen{title: name.Name, template: template, wants: func(changed types.NamespacedName) bool { return changed == name }, draw: draw})
}

// ownerPage is the page of the Rollout or the Experiment that controls an object.
func ownerPage(o metav1.Object) belongs {
	owner := metav1.GetControllerOf(o)
	if owner == nil {
		return belongs{}
	}
	pages := map[string]string{"Rollout": "rollout/", "Experiment": "experiment/"}
	if pages[owner.Kind] == "" {
		return belongs{}
	}
	return belongs{owner.Kind, owner.Name, pages[owner.Kind] + o.GetNamespace() + "/" + owner.Name}
}
