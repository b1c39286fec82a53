package spec

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// Metadata are labels and annotations that pods carry for the part that their version plays: they come and go without a
// restart, and make no new version. As JSON it is what upstream writes into [v1alpha1.EphemeralMetadataAnnotation].
type Metadata struct {
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// Empty reports whether there is nothing in it.
func (m Metadata) Empty() bool { return len(m.Labels)+len(m.Annotations) == 0 }

// Equal reports whether both say the same.
func (m Metadata) Equal(o Metadata) bool {
	return maps.Equal(m.Labels, o.Labels) && maps.Equal(m.Annotations, o.Annotations)
}

// String is "role=canary, team=web", the labels first.
func (m Metadata) String() string {
	var parts []string
	for _, of := range []map[string]string{m.Labels, m.Annotations} {
		for _, key := range slices.Sorted(maps.Keys(of)) {
			parts = append(parts, key+"="+of[key])
		}
	}
	return strings.Join(parts, ", ")
}

// Over is m on top of what is beneath it.
func (m Metadata) Over(beneath Metadata) Metadata {
	return Metadata{Labels: over(m.Labels, beneath.Labels), Annotations: over(m.Annotations, beneath.Annotations)}
}

// without is m without the keys of other.
func (m Metadata) without(other Metadata) Metadata {
	return Metadata{Labels: filter(m.Labels, other.Labels, false), Annotations: filter(m.Annotations, other.Annotations, false)}
}

// under is of m what other covers.
func (m Metadata) under(other Metadata) Metadata {
	return Metadata{Labels: filter(m.Labels, other.Labels, true), Annotations: filter(m.Annotations, other.Annotations, true)}
}

func over(upper, lower map[string]string) map[string]string {
	if len(upper) == 0 {
		return lower
	}
	out := maps.Clone(lower)
	if out == nil {
		out = map[string]string{}
	}
	maps.Copy(out, upper)
	return out
}

// filter is the part of m whose keys are, or are not, in keys.
func filter(m, keys map[string]string, in bool) map[string]string {
	var out map[string]string
	for key, value := range m {
		if _, ok := keys[key]; ok != in {
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		out[key] = value
	}
	return out
}

// EphemeralMetadata is what a ReplicaSet remembers of the metadata that was put on its template and its pods.
type EphemeralMetadata struct {
	// Template is what is on the template now. Upstream remembers it in the same annotation.
	Template Metadata
	// Pods is what pods may carry: what all of them do carry once nothing is pending, and until then also what earlier dresses
	// may have left on some.
	Pods Metadata
	// Pending: not all pods are known to be as the template is.
	Pending bool
	// Beneath is what the version's own template has where Template covers it.
	Beneath Metadata
}

// onPods is the JSON of [v1alpha1.EphemeralMetadataPodsAnnotation].
type onPods struct {
	Metadata
	Pending bool      `json:"pending,omitempty"`
	Beneath *Metadata `json:"beneath,omitempty"`
}

// EphemeralMetadataOf reads a ReplicaSet's annotations. What cannot be read was not written by a controller, and counts as nothing.
func EphemeralMetadataOf(rs *appsv1.ReplicaSet) EphemeralMetadata {
	var d EphemeralMetadata
	if text := rs.Annotations[v1alpha1.EphemeralMetadataAnnotation]; text != "" && json.Unmarshal([]byte(text), &d.Template) != nil {
		d.Template = Metadata{}
	}
	var pods onPods
	if text := rs.Annotations[v1alpha1.EphemeralMetadataPodsAnnotation]; text != "" && json.Unmarshal([]byte(text), &pods) == nil {
		d.Pods, d.Pending = pods.Metadata, pods.Pending
		if pods.Beneath != nil {
			d.Beneath = *pods.Beneath
		}
	}
	return d
}

// Settled reports whether all pods are known to be as the template is. Those of a ReplicaSet that another controller dressed are
// not, whether it got to the end or not.
func (d EphemeralMetadata) Settled() bool { return !d.Pending && d.Pods.Equal(d.Template) }

// Fits reports whether a template has the metadata, and nothing more of ours.
func (d EphemeralMetadata) Fits(rs *appsv1.ReplicaSet, wanted Metadata) bool {
	has := Metadata{Labels: rs.Spec.Template.Labels, Annotations: rs.Spec.Template.Annotations}
	return d.Template.Equal(wanted) && has.under(wanted).Equal(wanted)
}

// Change puts other metadata on a ReplicaSet's template in place of what is there, whose keys get the values back that the
// template itself gives them. That its pods have to follow is written down in the same breath, unless it has none.
func (d EphemeralMetadata) Change(rs *appsv1.ReplicaSet, wanted Metadata, hasPods bool) {
	bare := d.bare(rs.Spec.Template.ObjectMeta)
	dressed := wanted.Over(bare)
	rs.Spec.Template.Labels, rs.Spec.Template.Annotations = dressed.Labels, dressed.Annotations
	d.Pods, d.Pending = d.Template.Over(d.Pods), true
	d.Template, d.Beneath = wanted, bare.under(wanted)
	if !hasPods {
		d.Pods, d.Pending = d.Template, false
	}
	d.write(rs)
}

// Settle writes down that all pods are as the template is.
func (d EphemeralMetadata) Settle(rs *appsv1.ReplicaSet) {
	d.Pods, d.Pending = d.Template, false
	d.write(rs)
}

// Pod is a pod as its ReplicaSet's template has it, in all keys that were ever ours. It is the same pod if it is so already.
func (d EphemeralMetadata) Pod(pod *corev1.Pod, template *corev1.PodTemplateSpec) *corev1.Pod {
	var (
		keys = d.Template.Over(d.Pods)
		want = Metadata{Labels: template.Labels, Annotations: template.Annotations}.under(keys)
		have = Metadata{Labels: pod.Labels, Annotations: pod.Annotations}
	)
	if have.under(keys).Equal(want) {
		return pod
	}
	to := pod.DeepCopy()
	next := want.Over(have.without(keys))
	to.Labels, to.Annotations = next.Labels, next.Annotations
	return to
}

func (d EphemeralMetadata) bare(of metav1.ObjectMeta) Metadata {
	return d.Beneath.Over(Metadata{Labels: of.Labels, Annotations: of.Annotations}.without(d.Template))
}

func (d EphemeralMetadata) write(rs *appsv1.ReplicaSet) {
	if rs.Annotations == nil {
		rs.Annotations = map[string]string{}
	}
	delete(rs.Annotations, v1alpha1.EphemeralMetadataAnnotation)
	delete(rs.Annotations, v1alpha1.EphemeralMetadataPodsAnnotation)
	if !d.Template.Empty() {
		rs.Annotations[v1alpha1.EphemeralMetadataAnnotation] = string(mustJSON(d.Template))
	}
	if d.Pending || !d.Pods.Empty() {
		pods := onPods{Metadata: d.Pods, Pending: d.Pending}
		if !d.Beneath.Empty() {
			pods.Beneath = &d.Beneath
		}
		rs.Annotations[v1alpha1.EphemeralMetadataPodsAnnotation] = string(mustJSON(pods))
	}
}

// Bare is a ReplicaSet's template as the user wrote it, and the API server stored it: without metadata and the anti-affinity that
// were put in for the part that the version plays.
func Bare(rs *appsv1.ReplicaSet) *corev1.PodTemplateSpec {
	t := rs.Spec.Template.DeepCopy()
	m := EphemeralMetadataOf(rs).bare(t.ObjectMeta)
	t.Labels, t.Annotations = m.Labels, m.Annotations
	t.Spec.Affinity = AntiAffinity{}.Apply(t.Spec.Affinity, "", "")
	return t
}

func metadata(m *v1alpha1.PodTemplateMetadata) Metadata {
	if m == nil {
		return Metadata{}
	}
	return Metadata{Labels: m.Labels, Annotations: m.Annotations}
}

// metadata checks what pods are to carry for their version's part. The API server would refuse every write of a ReplicaSet with
// what it does not take, and a label that the selector reads would cut running pods off.
func (p *problems) metadata(ro *v1alpha1.Rollout) {
	check := func(field string, m *v1alpha1.PodTemplateMetadata) {
		if m != nil {
			p.metadataField(field, *m, ro.Spec)
		}
	}
	if c := ro.Spec.Strategy.Canary; c != nil {
		check(canaryField+".canaryMetadata", c.CanaryMetadata)
		check(canaryField+".stableMetadata", c.StableMetadata)
	}
	if b := ro.Spec.Strategy.BlueGreen; b != nil {
		check(blueGreenField+".previewMetadata", b.PreviewMetadata)
		check(blueGreenField+".activeMetadata", b.ActiveMetadata)
	}
}

func (p *problems) metadataField(field string, m v1alpha1.PodTemplateMetadata, s v1alpha1.RolloutSpec) {
	p.metadataSyntax(field, m)
	selector, err := metav1.LabelSelectorAsSelector(s.Selector)
	if err != nil || !selector.Matches(labels.Set(s.Template.Labels)) {
		return // told already, or not known yet
	}
	if dressed := labels.Set(over(m.Labels, s.Template.Labels)); !selector.Matches(dressed) {
		p.add(field+".labels", "%s would take pods out of spec.selector, which is %q: choose other keys", labels.Set(m.Labels), selector)
	}
}

// metadataSyntax checks what the API server would not take.
func (p *problems) metadataSyntax(field string, m v1alpha1.PodTemplateMetadata) {
	for _, key := range slices.Sorted(maps.Keys(m.Labels)) {
		value, at := m.Labels[key], fmt.Sprintf("%s.labels[%s]", field, key)
		for _, wrong := range slices.Concat(validation.IsQualifiedName(key), validation.IsValidLabelValue(value)) {
			p.add(at, "%q: %s", value, wrong)
		}
		if key == v1alpha1.PodTemplateHashLabel {
			p.add(at, "distinguishes the pods of the versions: leave it to the controller")
		}
	}
	for _, key := range slices.Sorted(maps.Keys(m.Annotations)) {
		for _, wrong := range validation.IsQualifiedName(strings.ToLower(key)) { // as the API server checks them
			p.add(fmt.Sprintf("%s.annotations[%s]", field, key), "%s", wrong)
		}
	}
}
