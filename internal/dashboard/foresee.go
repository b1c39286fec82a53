package dashboard

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/cli/act"
	"github.com/sluice-delivery/sluice/internal/cli/live"
	"github.com/sluice-delivery/sluice/internal/explain"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/view"
)

// imagining changes what was observed as an action would, with what the person has chosen for it.
type imagining func(ctx context.Context, c live.Client, seen plan.Observed, chosen url.Values) (plan.Observed, error)

// errNothingChosen says that the person has not chosen yet what the action is to do.
var errNothingChosen = errors.New("nothing has been chosen yet")

// patched imagines a patch that depends on the Rollout alone.
func patched(how func(*v1alpha1.Rollout) (act.Patch, error)) imagining {
	return func(_ context.Context, _ live.Client, seen plan.Observed, _ url.Values) (plan.Observed, error) {
		patch, err := how(seen.Rollout)
		if err != nil {
			return seen, err
		}
		seen.Rollout, err = patch.Applied(seen.Rollout)
		return seen, err
	}
}

// writing is a patch that is always the same.
func writing(p act.Patch) func(*v1alpha1.Rollout) (act.Patch, error) {
	return func(*v1alpha1.Rollout) (act.Patch, error) { return p, nil }
}

// answered is a patch that comes with what to say about it.
func answered(how func(*v1alpha1.Rollout) (act.Patch, string)) func(*v1alpha1.Rollout) (act.Patch, error) {
	return func(ro *v1alpha1.Rollout) (act.Patch, error) {
		p, _ := how(ro)
		return p, nil
	}
}

// restarting is the patch that restarts the pods that there are now.
func restarting(now time.Time) act.Patch {
	return act.Patch{Spec: act.Fields{"restartAt": now.UTC().Format(time.RFC3339)}}
}

func imagineRestart(ctx context.Context, c live.Client, seen plan.Observed, chosen url.Values) (plan.Observed, error) {
	return patched(writing(restarting(seen.Now)))(ctx, c, seen, chosen)
}

func imagineUndo(ctx context.Context, c live.Client, seen plan.Observed, chosen url.Values) (plan.Observed, error) {
	revision, err := revisionIn(chosen)
	if err != nil {
		return seen, err
	}
	way, err := act.UndoTo(ctx, c, seen.Rollout.Name, revision)
	if err != nil {
		return seen, err
	}
	return withTemplate(seen, way.Template()), nil
}

func imagineImages(_ context.Context, _ live.Client, seen plan.Observed, chosen url.Values) (plan.Observed, error) {
	images := imagesIn(chosen)
	if len(images) == 0 {
		return seen, errNothingChosen
	}
	template, _, err := act.WithImages(templateOf(seen), seen.Rollout.Name, images)
	if err != nil {
		return seen, err
	}
	return withTemplate(seen, template), nil
}

// imagesIn are the images that a person has typed.
func imagesIn(form url.Values) []act.Image {
	var images []act.Image
	for field, values := range form {
		if container, ok := strings.CutPrefix(field, "image-"); ok && strings.TrimSpace(values[0]) != "" {
			images = append(images, act.Image{Container: container, Name: strings.TrimSpace(values[0])})
		}
	}
	slices.SortFunc(images, func(a, b act.Image) int { return strings.Compare(a.Container, b.Container) })
	return images
}

// templateOf is the pod template of a Rollout, wherever it is.
func templateOf(seen plan.Observed) *corev1.PodTemplateSpec {
	if d, ok := seen.Workload.(*appsv1.Deployment); ok && seen.Rollout.Spec.WorkloadRef != nil {
		return &d.Spec.Template
	}
	return &seen.Rollout.Spec.Template
}

// withTemplate is what was observed with another pod template.
func withTemplate(seen plan.Observed, template *corev1.PodTemplateSpec) plan.Observed {
	if d, ok := seen.Workload.(*appsv1.Deployment); ok && seen.Rollout.Spec.WorkloadRef != nil {
		d = d.DeepCopy()
		d.Spec.Template = *template
		seen.Workload = d
		return seen
	}
	ro := seen.Rollout.DeepCopy()
	ro.Spec.Template = *template
	seen.Rollout = ro
	return seen
}

// foreseen is what follows an action.
type foreseen struct {
	// Next is what the engine does at once, and Waits what it waits for after that.
	Next, Waits []string
	// Later is how the update goes on from there. Unplayed is why some of this is not known.
	Later    *view.Outlook
	Unplayed string
	// open: the person has to choose first.
	open bool
}

// aheadTimeout is how long a question waits for what would follow.
const aheadTimeout = 5 * time.Second

// foresee plays ahead what follows an action. The cluster is asked just now: what the page shows may be a second old.
func (s *Server) foresee(ctx context.Context, p *person, o view.Objects, imagine imagining, chosen url.Values) foreseen {
	ctx, cancel := context.WithTimeout(ctx, aheadTimeout)
	defer cancel()
	name := types.NamespacedName{Namespace: o.Rollout.Namespace, Name: o.Rollout.Name}
	c := p.in(name.Namespace)
	seen, err := c.Observe(ctx, name.Name, s.Clock.Now())
	if err != nil {
		return foreseen{Unplayed: err.Error()}
	}
	seen, err = imagine(ctx, c, seen, chosen)
	if err != nil {
		return foreseen{Unplayed: err.Error(), open: errors.Is(err, errNothingChosen)}
	}
	then, err := explain.After(seen, seen.Rollout, looking(ctx, c))
	if err != nil {
		return foreseen{Unplayed: err.Error()}
	}
	var f foreseen
	for _, d := range then.Does {
		f.Next = append(f.Next, d.String())
	}
	for _, w := range then.Waits {
		f.Waits = append(f.Waits, w.String())
	}
	if f.Later, err = s.details.outlook(ctx, seen, startupOf(o.Pods)); err != nil {
		f.Unplayed = err.Error()
	}
	return f
}
