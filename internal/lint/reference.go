package lint

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// checkReferences looks at what objects name.
func (l *linter) checkReferences() {
	l.checkTwins()
	l.checkTemplates()
	l.checkPlugins()
	for _, o := range l.objects {
		switch obj := o.typed.(type) {
		case *v1alpha1.Rollout:
			l.checkRollout(o, obj)
			l.checkServices(o, obj)
			l.checkRouting(o, obj)
			l.checkRolloutAnalyses(o, obj)
			if ref := obj.Spec.WorkloadRef; ref != nil {
				l.want(o, "spec.workloadRef.name", workloadGroup(ref), ref.Kind, ref.Name)
			}
		case *v1alpha1.AnalysisRun:
			l.checkConditions(o, obj.Spec.Metrics)
		case *v1alpha1.Experiment:
			l.checkExperiment(o, obj)
		}
	}
}

// checkTwins finds objects that are there twice: the one applied last would win.
func (l *linter) checkTwins() {
	seen := map[string]*object{}
	for _, o := range l.objects {
		if o.name == "" {
			continue
		}
		key := fmt.Sprintf("%s/%s/%s/%s", o.group(), o.kind, o.namespace, o.name)
		if first := seen[key]; first != nil {
			l.report(DuplicateObject, o, "metadata.name", "is in %s:%d already: the one that is applied last would win; rename or remove one of them", first.file, first.line("metadata.name"))
			continue
		}
		seen[key] = o
	}
}

// lookup finds an object that another one names, nil if there is none in the files. An object without a namespace may be applied to any.
func (l *linter) lookup(from *object, group, kind, name string) *object {
	for _, o := range l.objects {
		if o.group() == group && o.kind == kind && o.name == name &&
			(o.namespace == "" || from.namespace == "" || o.namespace == from.namespace) {
			return o
		}
	}
	return nil
}

// want finds an object that another one names in a field. One that is not in the files may be elsewhere; that is worth a word only
// where others of the kind are in the files.
func (l *linter) want(from *object, field, group, kind, name string) *object {
	if found := l.lookup(from, group, kind, name); found != nil || name == "" {
		return found
	}
	var others []string
	for _, o := range l.objects {
		if o.group() == group && o.kind == kind {
			others = append(others, o.name)
		}
	}
	if len(others) > 0 {
		l.report(MissingObject, from, field, "there is no %s %q in these files%s", kind, name, meant(name, others, "add it, unless the cluster has it"))
	}
	return nil
}

// workload is what a workloadRef refers to, nil if that is not in the files or cannot be referred to.
func (l *linter) workload(o *object, ref *v1alpha1.ObjectRef) metav1.Object {
	found := l.lookup(o, workloadGroup(ref), ref.Kind, ref.Name)
	if found == nil {
		return nil
	}
	workload, _ := found.typed.(metav1.Object)
	return workload
}

func workloadGroup(ref *v1alpha1.ObjectRef) string {
	group, _, found := strings.Cut(ref.APIVersion, "/")
	if !found {
		return ""
	}
	return group
}

// withWorkload is the Rollout with the template of what its workloadRef refers to, if that is in the files; otherwise as it is.
func (l *linter) withWorkload(o *object, ro *v1alpha1.Rollout) *v1alpha1.Rollout {
	if ro.Spec.WorkloadRef == nil {
		return ro
	}
	workload := l.workload(o, ro.Spec.WorkloadRef)
	if workload == nil {
		return ro
	}
	with, _ := spec.WithWorkload(ro, workload) // problems are reported where the Rollout itself is checked
	return with
}

// checkServices: what a Service selects must be the Rollout's pods, or it would have none as soon as the controller adds the version.
func (l *linter) checkServices(o *object, ro *v1alpha1.Rollout) {
	with := l.withWorkload(o, ro)
	template := labels.Set(with.Spec.Template.Labels)
	for _, ref := range spec.Services(ro) {
		found := l.want(o, ref.Field, "", "Service", ref.Name)
		if found == nil {
			continue
		}
		service, ok := found.typed.(*corev1.Service)
		if !ok {
			continue
		}
		if text := spec.ServiceType(service); text != "" {
			l.report(ServiceType, o, ref.Field, "%s", text)
			continue
		}
		if owner := service.Annotations[v1alpha1.ManagedByAnnotation]; owner != "" && owner != ro.Name {
			l.report(ServiceOwner, o, ref.Field, "Service %q is managed by another Rollout, %q: give each Rollout a Service of its own", ref.Name, owner)
		}
		for _, key := range sortedKeys(service.Spec.Selector) {
			want := service.Spec.Selector[key]
			if key == v1alpha1.PodTemplateHashLabel || template[key] == want || with.Spec.WorkloadRef != nil {
				continue
			}
			have := "lacks the label"
			if value, there := template[key]; there {
				have = fmt.Sprintf("has %s=%s", key, value)
			}
			l.report(ServiceSelector, o, ref.Field, "Service %q (%s:%d) selects %s=%s, and the pod template %s: it would select no pods; change the selector of the Service, or the labels of the pod template",
				ref.Name, found.file, found.line("spec.selector."+key), key, want, have)
		}
	}
}
