package dashboard

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
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
	"github.com/sluice-delivery/sluice/internal/view"
)

// What decisions are about.
func aboutRollout(ro *v1alpha1.Rollout) string { return string(ro.UID) }

func aboutPause(ro *v1alpha1.Rollout) string {
	return fmt.Sprintf("%s/%t", ro.UID, ro.Spec.Paused)
}

// aboutUpdate: the version under way, and whether it was aborted.
func aboutUpdate(ro *v1alpha1.Rollout) string {
	return fmt.Sprintf("%s/%s/%t", ro.UID, ro.Status.CurrentPodHash, ro.Status.Abort)
}

// aboutStep: where the update is.
func aboutStep(ro *v1alpha1.Rollout) string {
	step := "-"
	if i := ro.Status.CurrentStepIndex; i != nil {
		step = strconv.Itoa(int(*i))
	}
	return aboutUpdate(ro) + "/" + step
}

// aboutTemplate: what the spec asks to be run.
func aboutTemplate(ro *v1alpha1.Rollout) string {
	h := fnv.New64a()
	_, _ = fmt.Fprint(h, quoted(ro.Spec.Template), quoted(ro.Spec.WorkloadRef)) // never fails
	return fmt.Sprintf("%s/%x", ro.UID, h.Sum64())
}

// confirmData is the page that asks back.
type confirmData struct {
	Root            string
	Name, Namespace string
	action
	foreseen
	Now              time.Time
	Verb, Seen, CSRF string
	// Undo to this revision.
	Revision  int64
	Revisions []view.Revision
	// Containers are those whose images can be set, with what was typed. Images are what was typed, and Changes what it changes.
	Containers []corev1.Container
	Images     []act.Image
	Changes    []string
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
	// As it is now: the cache may not have what this person did a moment ago.
	if now, err := who.in(name.Namespace).Rollout(r.Context(), name.Name); err == nil && now.UID == o.Rollout.UID { // else the cache has to do
		o.Rollout = now
	}
	return o, actions[i], nil
}

func (s *Server) ask(ctx context.Context, w http.ResponseWriter, status int, id identity, o view.Objects, a action, form url.Values, failure string) {
	d := confirmData{
		Root: s.path(), Name: o.Rollout.Name, Namespace: o.Rollout.Namespace, action: a, Now: s.Clock.Now(), Verb: a.Name, Seen: a.about(o.Rollout),
		CSRF: s.guard.csrf(id.session), Error: failure, foreseen: s.foresee(ctx, id.person, o, a.imagine, form),
	}
	switch c := id.person.in(d.Namespace); a.Name {
	case "undo":
		d.Revision, _ = revisionIn(form) // what is not a number is asked for
		d.Revisions = view.Of(o, d.Now).Revisions
		if way, err := act.UndoTo(ctx, c, d.Name, d.Revision); err == nil {
			d.Does, d.Revision = way.Text, way.Revision
		}
	case "image":
		d.Images = imagesIn(form)
		template := &o.Rollout.Spec.Template
		if o.Rollout.Spec.WorkloadRef != nil {
			if wanted, err := act.WantedTemplate(ctx, c, d.Name); err == nil { // else setting the images says why
				template = wanted
			}
		}
		typed, changes, err := act.WithImages(template, d.Name, d.Images)
		if err != nil {
			typed, d.Error = template, cmp.Or(d.Error, err.Error())
		}
		d.Changes = changes
		d.Containers = slices.Concat(typed.Spec.InitContainers, typed.Spec.Containers)
	}
	s.write(w, status, "confirm", layout{Title: a.Label + " " + d.Name, session: id.session}, d)
}

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
	if seen := r.PostForm.Get("seen"); seen != a.about(o.Rollout) {
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

// Open reports whether the person has to choose before anything can be confirmed.
func (d confirmData) Open() bool { return d.open }
