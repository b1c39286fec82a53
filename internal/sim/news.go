package sim

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// newsOf is all that the watches of the real controller tell of an Experiment, by their versions. Only when it changes does anybody look at
// it, and not because something happens to another one.
func (w *World) newsOf(ex *v1alpha1.Experiment) string {
	news := &strings.Builder{}
	tell := func(texts ...string) {
		for _, text := range texts {
			news.WriteString(text)
			news.WriteByte(' ')
		}
	}
	tell(string(ex.UID), ex.ResourceVersion)
	for _, s := range w.sets {
		if inNameOf(s, ex) {
			tell(s.Name, s.ResourceVersion)
		}
	}
	for _, run := range w.Runs() {
		if inNameOf(run, ex) {
			tell(run.Name, string(run.UID), string(run.Status.Phase))
		}
	}
	wanted := spec.ExperimentServices(ex)
	for _, s := range w.Services() {
		if slices.Contains(wanted, s.Name) {
			tell(s.Name, s.ResourceVersion)
		}
	}
	if len(ex.Spec.Analyses) > 0 && len(ex.Status.TemplateStatuses) == 0 { // it has not begun, and may wait for one
		for _, t := range w.objects.templates.now {
			tell(t.Name, t.ResourceVersion)
		}
	}
	return news.String()
}

// inNameOf reports whether something belongs to an Experiment or to one that had its name: watches know owners by their names.
func inNameOf(obj metav1.Object, ex *v1alpha1.Experiment) bool {
	owner := metav1.GetControllerOfNoCopy(obj)
	return owner != nil && owner.Kind == v1alpha1.KindExperiment && owner.Name == ex.Name
}
