package dashboard

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/cli/act"
	"github.com/sluice-delivery/sluice/internal/cli/live"
	"github.com/sluice-delivery/sluice/internal/explain"
	"github.com/sluice-delivery/sluice/internal/view"
)

// action is something that a person can do with a Rollout.
type action struct {
	Name, Label string
	// Key is what to press.
	Key string
	// Does is what will happen, for who is asked whether to do it.
	Does string
	// Past is what has happened, as in "promoted by jane".
	Past string
	// Main is the one that is likely meant now, Grave one that people should think about.
	Main, Grave bool
	// Denied is why it is not to be had, empty if it is.
	Denied string

	// offered is when it has a meaning.
	offered func(*v1alpha1.Rollout, view.Objects) bool
	// status: it writes the status first, for which there is a right of its own.
	status bool
	do     func(context.Context, live.Client, string, url.Values, time.Time) (string, error)
}

var actions = []action{
	{
		Name: "promote", Past: "promoted", Label: "Promote", Key: "p", status: true, offered: func(ro *v1alpha1.Rollout, _ view.Objects) bool {
			p, err := act.Promotion{}.Patch(ro)
			return err == nil && (p.Status != nil || p.Spec != nil) && !ro.Status.Abort
		},
		Does: "Continues the update: ends the current pause, or skips the step in progress.",
		do:   promoting(act.Promotion{}),
	},
	{
		Name: "promote-full", Past: "promoted in full", Label: "Promote in full", Key: "F", status: true, Grave: true, offered: updating,
		Does: "Skips all remaining steps, pauses, and analyses. The new version takes over immediately.",
		do:   promoting(act.Promotion{Full: true}),
	},
	{
		Name: "skip-step", Past: "step skipped", Label: "Skip step", Key: "s", status: true, Grave: true, offered: func(ro *v1alpha1.Rollout, o view.Objects) bool {
			canary := ro.Spec.Strategy.Canary
			i := ro.Status.CurrentStepIndex
			return updating(ro, o) && canary != nil && (i == nil || int(*i) < len(canary.Steps))
		},
		Does: "Counts the current step as done, whatever it waits for, analyses included.",
		do:   promoting(act.Promotion{SkipStep: true}),
	},
	{
		Name: "pause", Past: "paused", Label: "Pause", Key: "h", offered: func(ro *v1alpha1.Rollout, _ view.Objects) bool { return !ro.Spec.Paused },
		Does: "No pods are added or removed, and no step starts, until someone resumes the rollout.",
		do:   patching(act.Patch{Spec: act.Fields{"paused": true}}, "paused"),
	},
	{
		Name: "resume", Past: "resumed", Label: "Resume", Key: "h", offered: func(ro *v1alpha1.Rollout, _ view.Objects) bool { return ro.Spec.Paused },
		Does: "Removes spec.paused. The update continues where it is.",
		do:   patching(act.Patch{Spec: act.Fields{"paused": false}}, "resumed"),
	},
	{
		Name: "abort", Past: "aborted", Label: "Abort", Key: "a", status: true, Grave: true,
		offered: func(ro *v1alpha1.Rollout, _ view.Objects) bool { p, _ := act.Abort(ro); return p.Status != nil },
		Does:    "All traffic returns to the stable version. The rollout is Degraded until the spec changes or the update is retried.",
		do:      steering(act.Abort),
	},
	{
		Name: "retry", Past: "retried", Label: "Retry", Key: "r", status: true,
		offered: func(ro *v1alpha1.Rollout, _ view.Objects) bool { return ro.Status.Abort },
		Does:    "Tries the aborted update again from its first step.",
		do:      steering(act.Retry),
	},
	{
		Name: "restart", Past: "pods restarted", Label: "Restart pods", Key: "R",
		Does: "Replaces all current pods with new pods of the same version, at most maxUnavailable at a time. This does not start an update.",
		do: func(ctx context.Context, c live.Client, name string, _ url.Values, now time.Time) (string, error) {
			p := act.Patch{Spec: act.Fields{"restartAt": now.UTC().Format(time.RFC3339)}}
			return fmt.Sprintf("rollout '%s' restarts", name), p.Send(ctx, c, live.Rollouts, name)
		},
	},
	{
		Name: "undo", Past: "undone", Label: "Undo", Key: "z", offered: func(_ *v1alpha1.Rollout, o view.Objects) bool { return len(o.ReplicaSets) > 1 },
		Does: "Copies the pod template of an earlier revision into the rollout, which starts an update to it.",
		do: func(ctx context.Context, c live.Client, name string, form url.Values, _ time.Time) (string, error) {
			revision, err := revisionIn(form)
			if err != nil {
				return "", err
			}
			way, err := act.UndoTo(ctx, c, name, revision)
			if err != nil {
				return "", err
			}
			return fmt.Sprintf("rollout '%s' undone to revision %d", name, way.Revision), way.Do(ctx, c)
		},
	},
	{
		Name: "image", Past: "image set", Label: "Set image", Key: "i",
		Does: "Writes the images below into the pod template, which starts an update.",
		do: func(ctx context.Context, c live.Client, name string, form url.Values, _ time.Time) (string, error) {
			var images []act.Image
			for field, values := range form {
				if container, ok := strings.CutPrefix(field, "image-"); ok && values[0] != "" {
					images = append(images, act.Image{Container: container, Name: strings.TrimSpace(values[0])})
				}
			}
			changed, err := act.SetImages(ctx, c, name, images)
			if err == nil && !changed {
				return fmt.Sprintf("rollout '%s' has these images already", name), nil
			}
			return fmt.Sprintf("rollout '%s' has new images", name), err
		},
	},
}

// updating: there is a version that is not the stable one.
func updating(ro *v1alpha1.Rollout, _ view.Objects) bool {
	return ro.Status.CurrentPodHash != ro.Status.StableRS && ro.Status.StableRS != "" && !ro.Status.Abort
}

func promoting(how act.Promotion) func(context.Context, live.Client, string, url.Values, time.Time) (string, error) {
	return func(ctx context.Context, c live.Client, name string, _ url.Values, _ time.Time) (string, error) {
		return how.Do(ctx, c, name)
	}
}

func patching(p act.Patch, done string) func(context.Context, live.Client, string, url.Values, time.Time) (string, error) {
	return func(ctx context.Context, c live.Client, name string, _ url.Values, _ time.Time) (string, error) {
		return fmt.Sprintf("rollout '%s' %s", name, done), p.Send(ctx, c, live.Rollouts, name)
	}
}

func steering(how func(*v1alpha1.Rollout) (act.Patch, string)) func(context.Context, live.Client, string, url.Values, time.Time) (string, error) {
	return func(ctx context.Context, c live.Client, name string, _ url.Values, _ time.Time) (string, error) {
		return act.Steer(how)(ctx, c, name)
	}
}

func revisionIn(form url.Values) (int64, error) {
	text := form.Get("revision")
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("revision %q is not a number", text)
	}
	return n, nil
}

// actionsOf are those that have a meaning now, the likely one first.
func (s *Server) actionsOf(ctx context.Context, p *person, o view.Objects) []action {
	if s.ReadOnly {
		return nil
	}
	rights := s.may(ctx, p, o.Rollout.Namespace)
	var offered []action
	for _, a := range actions {
		if a.offered != nil && !a.offered(o.Rollout, o) {
			continue
		}
		a.Denied = rights.spec
		if a.status {
			a.Denied = rights.status
		}
		offered = append(offered, a)
	}
	waits := o.Rollout.Status.Phase == v1alpha1.RolloutPhasePaused
	for i := range offered {
		offered[i].Main = offered[i].Name == "promote" && waits || offered[i].Name == "retry" || offered[i].Name == "resume"
	}
	slices.SortStableFunc(offered, func(a, b action) int {
		switch {
		case a.Main == b.Main:
			return 0
		case a.Main:
			return -1
		}
		return 1
	})
	return offered
}

// stageOf is what a user saw who decided to act. If it has changed meanwhile, the decision was about something else.
func stageOf(ro *v1alpha1.Rollout) string {
	step := "-"
	if i := ro.Status.CurrentStepIndex; i != nil {
		step = strconv.Itoa(int(*i))
	}
	return fmt.Sprintf("%s/%s/%s/%t/%t/%d", ro.UID, ro.Status.CurrentPodHash, step, ro.Status.Abort, ro.Spec.Paused, ro.Generation)
}

// confirmData is the page that asks back.
type confirmData struct {
	Root            string
	Name, Namespace string
	action
	Verb, Seen, CSRF string
	// Next is what follows, as the engine plays it ahead.
	Next []string
	// Undo to this revision.
	Revision   int64
	Revisions  []view.Revision
	Containers []corev1.Container
	// Error is how it went wrong.
	Error string
}

func (s *Server) confirmPage(w http.ResponseWriter, r *http.Request, id identity) {
	name := named(r)
	o, a, p := s.chosen(r, id.person, name)
	if p != nil {
		s.refuse(w, r, *p)
		return
	}
	s.ask(r.Context(), w, http.StatusOK, id, o, a, r.URL.Query(), "")
}

// chosen are the Rollout and the action of a request, or why there is none.
func (s *Server) chosen(r *http.Request, who *person, name types.NamespacedName) (view.Objects, action, *problem) {
	o, ok := s.objects(r.Context(), who, name)
	if !ok {
		return o, action{}, &problem{http.StatusNotFound, fmt.Sprintf("There is no rollout '%s' in namespace '%s'.", name.Name, name.Namespace)}
	}
	i := slices.IndexFunc(actions, func(a action) bool { return a.Name == r.PathValue("action") })
	switch {
	case i < 0:
		return o, action{}, &problem{http.StatusNotFound, fmt.Sprintf("There is no action '%s'.", r.PathValue("action"))}
	case s.ReadOnly:
		return o, action{}, &problem{http.StatusForbidden, "This dashboard was started with --read-only: it changes nothing."}
	}
	return o, actions[i], nil
}

func (s *Server) ask(ctx context.Context, w http.ResponseWriter, status int, id identity, o view.Objects, a action, form url.Values, failure string) {
	d := confirmData{
		Root: s.path(), Name: o.Rollout.Name, Namespace: o.Rollout.Namespace, action: a, Verb: a.Name, Seen: stageOf(o.Rollout), CSRF: s.guard.csrf(id.session), Error: failure,
	}
	switch a.Name {
	case "promote":
		// Asked just now: what the page shows may be a second old.
		asking, cancel := context.WithTimeout(ctx, aheadTimeout)
		defer cancel()
		c := id.person.in(d.Namespace)
		if e, err := explained(asking, c, d.Name, s.Clock.Now()); err == nil { // without it the question is still a good one
			d.Next = promoted(*e)
		}
	case "undo":
		d.Revision, _ = revisionIn(form) // what is no number is asked for
		d.Revisions = view.Of(o, s.Clock.Now()).Revisions
		c := id.person.in(d.Namespace)
		if way, err := act.UndoTo(ctx, c, d.Name, d.Revision); err == nil {
			d.Does, d.Revision = way.Text, way.Revision
		}
	case "image":
		d.Containers = slices.Clone(slices.Concat(o.Rollout.Spec.Template.Spec.InitContainers, o.Rollout.Spec.Template.Spec.Containers))
		for i, c := range d.Containers {
			if given := form.Get("image-" + c.Name); given != "" {
				d.Containers[i].Image = given
			}
		}
	}
	s.write(w, status, "confirm", layout{Title: a.Label + " " + d.Name, session: id.session}, d)
}

// promoted is what the engine does after a promotion.
func promoted(e explain.Explanation) []string {
	for _, f := range e.Next {
		if f.When != explain.Promoted {
			continue
		}
		var lines []string
		for _, d := range f.Does {
			lines = append(lines, d.String())
		}
		for _, w := range f.Waits {
			lines = append(lines, "then it waits: "+w.String())
		}
		return lines
	}
	return nil
}

// aheadTimeout is how long a question waits for what would follow.
const aheadTimeout = 5 * time.Second

// actionTimeout is how long the API server may take.
const actionTimeout = 30 * time.Second

// perform does what was asked for, unless the Rollout is not what the person saw.
func (s *Server) perform(w http.ResponseWriter, r *http.Request, id identity) {
	name := named(r)
	o, a, p := s.chosen(r, id.person, name)
	if p != nil {
		s.refuse(w, r, *p)
		return
	}
	if err := r.ParseForm(); err != nil {
		s.refuse(w, r, problem{http.StatusBadRequest, "This form cannot be read: " + err.Error()})
		return
	}
	if !s.signedForm(r, id) {
		s.refuse(w, r, problem{http.StatusForbidden, staleForm})
		return
	}
	if seen := r.PostForm.Get("seen"); seen != stageOf(o.Rollout) {
		s.ask(r.Context(), w, http.StatusConflict, id, o, a, r.PostForm, "The rollout has changed since this page was made. Look at it once more before you confirm.")
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), actionTimeout)
	defer cancel()
	c := id.person.in(name.Namespace)
	said, err := a.do(ctx, c, name.Name, r.PostForm, s.Clock.Now())
	if err != nil {
		s.ask(r.Context(), w, http.StatusBadGateway, id, o, a, r.PostForm, err.Error())
		return
	}
	s.say(w, strings.ToUpper(said[:1])+said[1:]+"."+s.announce(ctx, id.person, o.Rollout, a))
	http.Redirect(w, r, s.path("rollout", name.Namespace, name.Name), http.StatusSeeOther)
}
