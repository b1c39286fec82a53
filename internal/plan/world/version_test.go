package world_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/plan/world"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// The new version has a hash of the template, whatever an admission webhook has added to its ReplicaSet, or the template under any hash. Of several
// it is the first one made.
func TestTheNewVersion(t *testing.T) {
	template := corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web:1"}}}}
	changed := template.DeepCopy()
	changed.Spec.Containers = append(changed.Spec.Containers, corev1.Container{Name: "sidecar", Image: "proxy:1"})
	hash, others := spec.PodHash(&template, nil), []string{}
	for other := range spec.OtherPodHashes(&template, nil) {
		others = append(others, other)
	}
	set := func(name, hash string, template corev1.PodTemplateSpec, second int64) *appsv1.ReplicaSet {
		rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1alpha1.PodTemplateHashLabel: hash}, CreationTimestamp: metav1.Unix(second, 0)}}
		rs.Spec.Template = *template.DeepCopy()
		return rs
	}
	gone := set("gone", hash, template, 1)
	gone.DeletionTimestamp = &metav1.Time{}
	for name, row := range map[string]struct {
		sets []*appsv1.ReplicaSet
		want string
	}{
		"its hash, in a template that was changed":            {[]*appsv1.ReplicaSet{set("a", hash, *changed, 1), set("b", "b", *changed, 2)}, "a"},
		"its hash rather than its template":                   {[]*appsv1.ReplicaSet{set("a", "a", template, 1), set("b", hash, *changed, 2)}, "b"},
		"a hash of old, in a template that was changed":       {[]*appsv1.ReplicaSet{set("a", others[0], *changed, 1), set("b", "b", *changed, 2)}, "a"},
		"a Deployment's hash, in a template that was changed": {[]*appsv1.ReplicaSet{set("a", others[1], *changed, 1), set("b", "b", *changed, 2)}, "a"},
		"a hash of old rather than the template":              {[]*appsv1.ReplicaSet{set("a", "a", template, 1), set("b", others[1], *changed, 2)}, "b"},
		"its template":                                        {[]*appsv1.ReplicaSet{set("a", "a", template, 1)}, "a"},
		"its template, made twice":                            {[]*appsv1.ReplicaSet{set("a", "a", template, 9), set("b", "b", template, 2)}, "b"},
		"its template, at the same time":                      {[]*appsv1.ReplicaSet{set("b", "b", template, 1), set("a", "a", template, 1)}, "a"},
		"its template, and one being deleted":                 {[]*appsv1.ReplicaSet{gone, set("a", "a", template, 2)}, "a"},
		"other templates":                                     {[]*appsv1.ReplicaSet{set("a", "a", *changed, 1), set("b", "b", *changed, 2)}, ""},
		"nothing":                                             {},
	} {
		w := world.New(world.Observed{Rollout: &v1alpha1.Rollout{}, ReplicaSets: row.sets}, spec.Rollout{Template: template, PodHash: hash})
		got := ""
		if w.New != nil {
			got = w.New.Name
		}
		if got != row.want {
			t.Errorf("%s: %q is the new version, not %q", name, got, row.want)
		}
	}
}

// A version's revision is a decimal number in an annotation; any other text counts as none.
func TestRevision(t *testing.T) {
	for text, want := range map[string]int64{"1": 1, "9": 9, "10": 10, "128": 128, "9223372036854775807": 9223372036854775807, "": 0, "x": 0, "0x10": 0, "1.5": 0} {
		rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{v1alpha1.RevisionAnnotation: text}}}
		w := world.New(world.Observed{Rollout: &v1alpha1.Rollout{}, ReplicaSets: []*appsv1.ReplicaSet{rs}}, spec.Rollout{})
		if got := w.New.Revision; got != want {
			t.Errorf("%q is revision %d, not %d", text, got, want)
		}
	}
}

// A version is refused pods for as long as the condition that says so holds, whatever else holds.
func TestRefusal(t *testing.T) {
	v := world.Version{ReplicaSet: &appsv1.ReplicaSet{}}
	for _, row := range []struct {
		kind   appsv1.ReplicaSetConditionType
		status corev1.ConditionStatus
		want   string
	}{
		{appsv1.ReplicaSetReplicaFailure, corev1.ConditionTrue, "exceeded quota"},
		{appsv1.ReplicaSetReplicaFailure, corev1.ConditionFalse, ""},
		{"SomeoneElses", corev1.ConditionTrue, ""},
	} {
		v.Status.Conditions = []appsv1.ReplicaSetCondition{{Type: row.kind, Status: row.status, Message: "exceeded quota"}}
		if got := v.Refusal(); got != row.want {
			t.Errorf("%s %s: %q, want %q", row.kind, row.status, got, row.want)
		}
	}
}

// An Experiment that is being deleted is gone, but nobody else can have its name yet.
func TestAnExperimentBeingDeleted(t *testing.T) {
	ex := &v1alpha1.Experiment{ObjectMeta: metav1.ObjectMeta{Name: "web-1"}}
	w := &world.World{Observed: world.Observed{Experiments: []*v1alpha1.Experiment{ex}}}
	if w.Experiment("web-1") != ex || !w.IsTaken("web-1") {
		t.Error("it is not found")
	}
	ex.DeletionTimestamp = &metav1.Time{}
	if w.Experiment("web-1") != nil || !w.IsTaken("web-1") {
		t.Error("it is found while it is being deleted, or its name is free")
	}
}

// A template's Service has the name that the step gives it, or that of the ReplicaSet, and counts only as long as the Experiment controls it.
func TestExperimentService(t *testing.T) {
	ex := &v1alpha1.Experiment{ObjectMeta: metav1.ObjectMeta{Name: "web-1", UID: "1"}}
	service := func(name string, of *v1alpha1.Experiment) *corev1.Service {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{
			Name: name, OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(of, v1alpha1.GroupVersion.WithKind("Experiment"))},
		}}
	}
	child := spec.ExperimentChildName("web-1", "new")
	gone := service("mine", ex)
	gone.DeletionTimestamp = &metav1.Time{}
	foreign := service("mine", &v1alpha1.Experiment{ObjectMeta: metav1.ObjectMeta{Name: "web-1", UID: "2"}})
	for name, row := range map[string]struct {
		named    string
		services []*corev1.Service
		want     string
	}{
		"no name":              {"", []*corev1.Service{service("mine", ex), service(child, ex)}, child},
		"a name":               {"mine", []*corev1.Service{service(child, ex), service("mine", ex)}, "mine"},
		"a name of no Service": {"mine", []*corev1.Service{service(child, ex)}, ""},
		"another's":            {"mine", []*corev1.Service{foreign}, ""},
		"being deleted":        {"mine", []*corev1.Service{gone}, ""},
	} {
		w := &world.World{Observed: world.Observed{ExperimentServices: row.services}}
		got := ""
		if s := w.ExperimentService(ex, &v1alpha1.RolloutExperimentTemplate{Name: "new", Service: &v1alpha1.TemplateService{Name: row.named}}); s != nil {
			got = s.Name
		}
		if got != row.want {
			t.Errorf("%s: %q, want %q", name, got, row.want)
		}
	}
}

// A version's own pods are not those of others.
func TestAnsweredBeside(t *testing.T) {
	serving := func(name string, pods int32) *world.Version {
		v := &world.Version{ReplicaSet: &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: name}}}
		v.Spec.Replicas, v.Status.AvailableReplicas = &pods, pods
		return v
	}
	w := &world.World{}
	w.New, w.Stable = serving("new", 1), serving("stable", 0)
	if w.AnsweredBeside(w.New) {
		t.Error("the new version is the only one that answers")
	}
	if !w.AnsweredBeside(w.Stable) {
		t.Error("the new version answers next to the stable one")
	}
}

// Kubernetes takes one pod for a size that is not set, also where the API server has set none yet.
func TestASizeThatIsNotSetIsOne(t *testing.T) {
	for want, v := range map[int32]*world.Version{0: nil, 1: {ReplicaSet: &appsv1.ReplicaSet{}}, 5: {ReplicaSet: &appsv1.ReplicaSet{Spec: appsv1.ReplicaSetSpec{Replicas: new(int32(5))}}}} {
		if got := v.Desired(); got != want {
			t.Errorf("%d pods are wanted, not %d", got, want)
		}
	}
}

// A status may name any step.
func TestStepsThatThereAreNot(t *testing.T) {
	w := world.New(world.Observed{Rollout: &v1alpha1.Rollout{}}, spec.Rollout{Strategy: spec.Canary{Steps: []spec.Step{spec.Pause{Indefinite: true}, spec.SetWeight{Weight: 20}}}})
	for index, want := range map[int32]spec.Step{-1: nil, 0: spec.Pause{Indefinite: true}, 1: spec.SetWeight{Weight: 20}, 2: nil} {
		if got := w.Step(index); got != want {
			t.Errorf("step %d is %v, not %v", index, got, want)
		}
	}
}
