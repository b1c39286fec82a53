package spec

import (
	"encoding/json"
	"hash/fnv"
	"slices"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// guestbook is a template with some of everything that changes how JSON comes out.
func guestbook() *corev1.PodTemplateSpec {
	grace := int64(45)
	return &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "guestbook"}, Annotations: map[string]string{"note": "a < b & c"}},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: &grace,
			Containers: []corev1.Container{{
				Name:  "guestbook",
				Image: "gb-frontend:v5",
				Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 80}},
				Env:   []corev1.EnvVar{{Name: "GET_HOSTS_FROM", Value: "dns"}},
				ReadinessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{
					HTTPGet: &corev1.HTTPGetAction{Path: "/", Port: intstr.FromString("http")},
				}},
			}},
		},
	}
}

// The JSON that hashes are made of. If this test fails after an update of k8s.io/api, every Rollout in every cluster would start
// an update: do not adjust it, but keep the JSON as it was.
func TestHashedJSONDoesNotChange(t *testing.T) {
	const want = `{"metadata":{"labels":{"app":"guestbook"},"annotations":{"note":"a \u003c b \u0026 c"}},` +
		`"spec":{"containers":[{"name":"guestbook","image":"gb-frontend:v5","ports":[{"name":"http","containerPort":80}],` +
		`"env":[{"name":"GET_HOSTS_FROM","value":"dns"}],"resources":{},` +
		`"readinessProbe":{"httpGet":{"path":"/","port":"http"}}}],"terminationGracePeriodSeconds":45}}`
	got, err := json.Marshal(guestbook())
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if empty, _ := json.Marshal(&corev1.PodTemplateSpec{}); string(empty) != `{"metadata":{},"spec":{"containers":null}}` {
		t.Errorf("the empty template is %s", empty)
	}
}

// Pinned once. They must never change.
func TestPodHashVectors(t *testing.T) {
	count := func(n int32) *int32 { return &n }
	for name, c := range map[string]struct {
		template   *corev1.PodTemplateSpec
		collisions *int32
		want       string
	}{
		"an empty template":                 {&corev1.PodTemplateSpec{}, nil, "658c46c486"},
		"a template":                        {guestbook(), nil, "58db468545"},
		"a collision count of zero counts":  {guestbook(), count(0), "7fdc4c46cc"},
		"the first collision":               {guestbook(), count(1), "686484cd88"},
		"a count of more than one byte":     {guestbook(), count(258), "5f8c85d696"},
		"the order of labels does not show": {withLabels(guestbook(), "b", "a"), nil, "75bf957688"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := PodHash(c.template, c.collisions); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	if PodHash(withLabels(guestbook(), "a", "b"), nil) != PodHash(withLabels(guestbook(), "b", "a"), nil) {
		t.Error("labels in another order give another hash")
	}
}

func withLabels(t *corev1.PodTemplateSpec, keys ...string) *corev1.PodTemplateSpec {
	for _, k := range keys {
		t.Labels[k] = "x"
	}
	return t
}

// The same recipe, written down a second time from its description: FNV-1a over the text and eight bytes of count, in the
// alphabet of generated names.
func TestPodHashRecipe(t *testing.T) {
	recipe := func(text string, count ...byte) string {
		h := fnv.New32a()
		h.Write([]byte(text))
		h.Write(count)
		return rand.SafeEncodeString(strconv.FormatUint(uint64(h.Sum32()), 10))
	}
	const now = `{"metadata":{},"spec":{"containers":null}}`
	const before = `{"metadata":{"creationTimestamp":null},"spec":{"containers":null}}`
	one, template := int32(1), &corev1.PodTemplateSpec{}

	if got, want := PodHash(template, nil), recipe(now); got != want {
		t.Errorf("PodHash = %q, want %q", got, want)
	}
	if got, want := PodHash(template, &one), recipe(now, 1, 0, 0, 0, 0, 0, 0, 0); got != want {
		t.Errorf("PodHash after a collision = %q, want %q", got, want)
	}
	if others := slices.Collect(OtherPodHashes(template, nil)); len(others) != 2 || others[0] != recipe(before) {
		t.Errorf("OtherPodHashes = %q, want the first to be %q", others, recipe(before))
	}
	labelled := &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}}}
	const labelledBefore = `{"metadata":{"creationTimestamp":null,"labels":{"a":"b"}},"spec":{"containers":null}}`
	if others := slices.Collect(OtherPodHashes(labelled, nil)); others[0] != recipe(labelledBefore) {
		t.Errorf("OtherPodHashes with labels = %q, want the first to be %q", others, recipe(labelledBefore))
	}
}

// The Deployment controller's hash of this template, pinned.
func TestDeploymentHashVector(t *testing.T) {
	if got := slices.Collect(OtherPodHashes(guestbook(), nil))[1]; got != "77cb489df9" {
		t.Errorf("got %q", got)
	}
}

func TestStepHashVectors(t *testing.T) {
	weight, pause := int32(25), intstr.FromString("1m")
	for name, c := range map[string]struct {
		steps []v1alpha1.CanaryStep
		want  string
	}{
		"no steps":       {nil, "5ffbfbbd64"},
		"an empty list":  {[]v1alpha1.CanaryStep{}, "5ffbfbbd64"},
		"a weight":       {[]v1alpha1.CanaryStep{{SetWeight: &weight}}, "7f9488b87d"},
		"and a pause":    {[]v1alpha1.CanaryStep{{SetWeight: &weight}, {Pause: &v1alpha1.RolloutPause{Duration: &pause}}}, "6fdb8fb7f4"},
		"an open pause":  {[]v1alpha1.CanaryStep{{Pause: &v1alpha1.RolloutPause{}}}, "6b9b86fbd5"},
		"a pause before": {[]v1alpha1.CanaryStep{{Pause: &v1alpha1.RolloutPause{Duration: &pause}}, {SetWeight: &weight}}, "8587c7c5fd"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := StepHash(c.steps); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
