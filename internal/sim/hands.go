package sim

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// Lead has another process take the lead: it remembers nothing, and looks at everything.
func (w *World) Lead() {
	if c, ok := w.loop.(*Controller); ok {
		c.refusals, c.routeRefusals, c.due, c.wake = nil, nil, time.Time{}, time.Time{}
		c.Notify()
	}
	w.restart()
}

// JudgeExperiment has an Experiment come to a phase.
func (w *World) JudgeExperiment(ex *v1alpha1.Experiment, phase v1alpha1.AnalysisPhase) {
	next := ex.DeepCopy()
	next.Status.Phase = phase
	w.objects.experiments.replace(w, next, false)
	w.watched()
}

// CanBend reports whether there is a route of a kind with weights.
func (w *World) CanBend(kind string) bool { return w.weighted(kind) >= 0 }

// weighted is the place of the route of a kind that has weights, negative if there is none.
func (w *World) weighted(kind string) int {
	return slices.IndexFunc(w.objects.routes.now, func(o *unstructured.Unstructured) bool {
		return o.GetKind() == kind && (kind != "Ingress" || o.GetAnnotations()[canaryWeight] != "")
	})
}

const canaryWeight = "nginx.ingress.kubernetes.io/canary-weight"

// Bend writes other weights into a route by hand: what the canary does not get goes to the stable version.
func (w *World) Bend(kind string, weight int64) error {
	i := w.weighted(kind)
	if i < 0 {
		return fmt.Errorf("there is no %s with weights", kind)
	}
	o := w.objects.routes.now[i].DeepCopy()
	if kind == "Ingress" {
		annotations := o.GetAnnotations()
		annotations[canaryWeight] = strconv.FormatInt(weight, 10)
		o.SetAnnotations(annotations)
		w.PutRoute(o)
		return nil
	}
	rules, _, _ := unstructured.NestedSlice(o.Object, "spec", "rules")
	for _, b := range rules[0].(map[string]any)["backendRefs"].([]any) {
		backend := b.(map[string]any)
		backend["weight"] = 100 - weight
		if name := backend["name"]; name == "web-canary" || name == "web-pong" {
			backend["weight"] = weight
		}
	}
	if err := unstructured.SetNestedSlice(o.Object, rules, "spec", "rules"); err != nil {
		return err
	}
	w.PutRoute(o)
	return nil
}
