package controller

import (
	"cmp"
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/clean"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/spec"
	router "github.com/sluice-delivery/sluice/internal/traffic/plugin"
)

// A plugin that a Rollout names no more still splits traffic as it was told last, perhaps to a version whose pods are about to go. So it is asked to
// remove its managed routes, and to send everything to the stable version.
//
// While the Rollout is there, that is a route to release like those of other routers: the stable version has its pods first, and no pods go before it
// is done. A plugin that cannot do it holds that up for a few minutes, and not longer. When the Rollout is gone nothing waits, and there is nobody left
// to remember it: a controller that ends meanwhile does not ask again.

// keepsTraffic is why a plugin has not returned the traffic of a Rollout.
type keepsTraffic struct{ plugin, problem string }

func (k keepsTraffic) Error() string {
	return fmt.Sprintf("plugin %q cannot return the traffic to the stable version: %s", k.plugin, k.problem)
}

// notePlugin notes in the Rollout that a plugin is about to split its traffic.
func (r *RolloutReconciler) notePlugin(ctx context.Context, ro *v1alpha1.Rollout, asked router.Asked) error {
	if asked.Returns || ro.UID == "" {
		return nil
	}
	notes := map[string]router.Asked{asked.Plugin: router.Note(asked)}
	for name, note := range router.Notes(ro) {
		if name != asked.Plugin {
			notes[name] = note
		}
	}
	return r.writePlugins(ctx, ro, notes)
}

func (r *RolloutReconciler) writePlugins(ctx context.Context, ro *v1alpha1.Rollout, notes map[string]router.Asked) error {
	written := router.WriteNotes(notes)
	if written == ro.Annotations[v1alpha1.PluginRoutesAnnotation] {
		return nil
	}
	from, to := onlyNotes(ro, ro.Annotations[v1alpha1.PluginRoutesAnnotation]), onlyNotes(ro, written)
	if err := r.patch(ctx, ro, from, to, "rollout"); err != nil {
		return err
	}
	noted := ro.DeepCopy()
	noted.Annotations = to.Annotations
	r.plugins.note(noted)
	return nil
}

// onlyNotes is a Rollout as far as a patch of its notes needs it.
func onlyNotes(ro *v1alpha1.Rollout, written string) *v1alpha1.Rollout {
	lean := onlyStatus(ro, v1alpha1.RolloutStatus{})
	lean.UID, lean.Unreadable = ro.UID, nil
	if written != "" {
		lean.Annotations = map[string]string{v1alpha1.PluginRoutesAnnotation: written}
	}
	return lean
}

// note remembers a Rollout that has notes.
func (p *pluginRoutes) note(ro *v1alpha1.Rollout) {
	if p.host == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if ro.Annotations[v1alpha1.PluginRoutesAnnotation] == "" {
		delete(p.noted, client.ObjectKeyFromObject(ro))
		return
	}
	p.noted[client.ObjectKeyFromObject(ro)] = ro
}

// namesPlugin reports whether a Rollout's spec names a plugin.
func namesPlugin(ro *v1alpha1.Rollout, name string) bool {
	canary := ro.Spec.Strategy.Canary
	if canary == nil || canary.TrafficRouting == nil {
		return false
	}
	_, named := canary.TrafficRouting.Plugins[name]
	return named
}

func pluginObject(ro *v1alpha1.Rollout, name string) types.NamespacedName {
	return types.NamespacedName{Namespace: ro.Namespace, Name: ro.Name + "/" + name}
}

// left are the objects of plugins that a Rollout no longer names, and that have not returned its traffic yet.
func (p *pluginRoutes) left(ro *v1alpha1.Rollout) (all []*unstructured.Unstructured) {
	if p.host == nil {
		return nil
	}
	for name, note := range router.Notes(ro) {
		if namesPlugin(ro, name) {
			continue
		}
		returned := router.Return(note, ro.Status.StableRS)
		if ended, _ := p.returned(ro, returned); !ended {
			all = append(all, router.Left(pluginObject(ro, name), note, returned))
		}
	}
	return all
}

// returned reports whether a plugin need not be asked any more to return the traffic, and why it was in vain, if it was.
func (p *pluginRoutes) returned(ro *v1alpha1.Rollout, asked router.Asked) (ended bool, vain string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	route := p.of(pluginObject(ro, asked.Plugin), ro.UID)
	switch {
	case route.inForce == router.Text(asked):
		return true, ""
	case route.left.IsZero() || p.clock.Since(route.left) < longestReturn:
		return false, ""
	}
	return true, cmp.Or(route.problem, "it has not answered")
}

// forgetPlugins removes the notes about plugins that the Rollout no longer names and that need not be asked any more, when nothing else is written.
func (r *RolloutReconciler) forgetPlugins(ctx context.Context, seen plan.Observed, p plan.Plan) error {
	if r.plugins.host == nil || p.Writes() {
		return nil
	}
	notes, kept := router.Notes(seen.Rollout), map[string]router.Asked{}
	vain := map[string]string{}
	for name, note := range notes {
		ended, why := r.plugins.returned(seen.Rollout, router.Return(note, seen.Rollout.Status.StableRS))
		switch {
		case namesPlugin(seen.Rollout, name) || !ended:
			kept[name] = note
		case why != "":
			vain[name] = why
		}
	}
	if len(kept) == len(notes) {
		return nil
	}
	if err := r.writePlugins(ctx, seen.Rollout, kept); err != nil {
		return err
	}
	for name, why := range vain {
		r.warnVain(seen.Rollout, name, why)
	}
	return nil
}

func (r *RolloutReconciler) warnVain(ro *v1alpha1.Rollout, name, why string) {
	r.events.Event(ro, corev1.EventTypeWarning, v1alpha1.EventTrafficRoutingError, clean.Text(fmt.Sprintf(
		"Plugin %q has not returned the traffic of this Rollout to the stable version within %s: %s. It is not asked again: remove what it has set by hand",
		name, longestReturn, why)))
}

// pluginNames are the objects of plugins that a Rollout names, or has not got its traffic back from.
func pluginNames(ro *v1alpha1.Rollout, policy spec.Policy) []types.NamespacedName {
	names := pluginsOf(ro, policy)
	for name := range router.Notes(ro) {
		names = append(names, pluginObject(ro, name))
	}
	return names
}

// goneAgain is when a Rollout that is gone is reconciled again while its plugins are asked to return its traffic.
const goneAgain = time.Second

// returnGone asks the plugins of a Rollout that is gone to return its traffic, and returns when to go on with that. Nothing else waits for it.
func (r *RolloutReconciler) returnGone(ctx context.Context, key types.NamespacedName) (again time.Duration, err error) {
	ro, begun := r.plugins.gone(key)
	if ro == nil {
		return 0, nil
	}
	if !begun {
		var now v1alpha1.Rollout
		if err := r.live.Get(ctx, key, &now); !apierrors.IsNotFound(err) {
			return 0, err // nil: there it is, perhaps another instance's
		}
	}
	left := map[string]router.Asked{}
	for name, note := range router.Notes(ro) {
		asked := router.Return(note, ro.Status.StableRS)
		ended, vain := r.plugins.returned(ro, asked)
		switch {
		case vain != "":
			r.warnVain(ro, name, vain)
		case !ended:
			left[name] = note
			if err := r.plugins.ask(ro, router.Object(pluginObject(ro, name), router.Text(asked), "", "")); err != nil {
				r.log.DebugContext(ctx, "a Rollout that is gone has not got its traffic back", "rollout", key.String(), "error", err)
			}
		}
	}
	if len(left) == 0 {
		return 0, nil
	}
	rest := ro.DeepCopy()
	rest.Annotations[v1alpha1.PluginRoutesAnnotation] = router.WriteNotes(left)
	r.plugins.note(rest)
	return goneAgain, nil
}

// gone is a Rollout as it was noted last, nil if it was not, and whether its plugins have been asked to return its traffic.
func (p *pluginRoutes) gone(key types.NamespacedName) (ro *v1alpha1.Rollout, begun bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	ro = p.noted[key]
	for _, route := range p.known[key] {
		begun = begun || ro != nil && route.rollout == ro.UID && !route.left.IsZero()
	}
	return ro, begun
}
