package resourcemetrics

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/sluice-delivery/sluice/playground/serve"
)

// usages are processors by container.
type usages map[serve.Key]float64

func (u usages) Usage(key serve.Key, _ time.Time) (float64, bool) {
	n, known := u[key]
	return n, known
}

func pod(namespace, name, node string, containers ...string) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(name), Labels: map[string]string{"app": name}},
		Spec:       corev1.PodSpec{NodeName: node},
	}
	for _, c := range containers {
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: c, ContainerID: "id-" + c, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
		})
	}
	return p
}

// Requests are answered as metrics-server answers them: with what runs, by namespace, labels, name or node.
func TestAPI(t *testing.T) {
	a := &api{
		client: fake.NewClientset(
			pod("shop", "web", "node-1", "app", "sidecar"), pod("shop", "db", "node-1", "db"), pod("other", "web-2", "node-2", "app"),
			pod("shop", "pending", ""), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}},
		),
		usage: usages{{Pod: "web", Container: "id-app"}: 0.25, {Pod: "web-2", Container: "id-app"}: 2},
		now:   func() time.Time { return time.Unix(1_000_000, 0) },
	}
	handler := a.handler()
	const v1beta1 = root + "/v1beta1"
	for path, want := range map[string]map[string]string{
		v1beta1 + "/pods":                                          {"web": "250m 1m", "db": "1m", "web-2": "2"},
		v1beta1 + "/namespaces/shop/pods":                          {"web": "250m 1m", "db": "1m"},
		v1beta1 + "/namespaces/shop/pods?labelSelector=app%3Ddb":   {"db": "1m"},
		v1beta1 + "/namespaces/shop/pods?labelSelector=app%3Dnone": {},
	} {
		var list struct {
			Kind  string
			Items []struct {
				Metadata   metav1.ObjectMeta
				Window     metav1.Duration
				Containers []struct{ Usage corev1.ResourceList }
			}
		}
		get(t, handler, path, http.StatusOK, &list)
		got := map[string]string{}
		for _, item := range list.Items {
			text := ""
			for i, c := range item.Containers {
				if i > 0 {
					text += " "
				}
				text += c.Usage.Cpu().String()
			}
			got[item.Metadata.Name] = text
			if item.Window.Duration != serve.Window {
				t.Errorf("%s: a window of %s", path, item.Window.Duration)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" || list.Kind != "PodMetricsList" {
			t.Errorf("%s: %s (-want +got)\n%s", path, list.Kind, diff)
		}
	}
}

func TestErrors(t *testing.T) {
	handler := (&api{client: fake.NewClientset(pod("shop", "pending", "")), usage: usages{}, now: time.Now}).handler()
	for path, message := range map[string]string{
		root + "/v1beta1/namespaces/shop/pods/pending": `pods.metrics.k8s.io "pending" not found`,
		root + "/v1beta1/namespaces/shop/pods/none":    `pods "none" not found`,
		root + "/v1beta1/nodes/none":                   `nodes "none" not found`,
	} {
		var status metav1.Status
		get(t, handler, path, http.StatusNotFound, &status)
		if status.Message != message || status.Reason != metav1.StatusReasonNotFound {
			t.Errorf("%s: %q (%s), want %q", path, status.Message, status.Reason, message)
		}
	}
}

// Clients find the two resources by discovery.
func TestDiscovery(t *testing.T) {
	handler := (&api{}).handler()
	var group metav1.APIGroup
	get(t, handler, root, http.StatusOK, &group)
	if group.PreferredVersion.GroupVersion != "metrics.k8s.io/v1beta1" {
		t.Errorf("the preferred version is %q", group.PreferredVersion.GroupVersion)
	}
	var list metav1.APIResourceList
	get(t, handler, root+"/v1beta1", http.StatusOK, &list)
	if len(list.APIResources) != 2 || !list.APIResources[1].Namespaced {
		t.Errorf("resources: %v", list.APIResources)
	}
}

func get(t *testing.T, handler http.Handler, path string, code int, into any) {
	t.Helper()
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	if w.Code != code {
		t.Fatalf("%s: %d: %s", path, w.Code, w.Body)
	}
	if err := json.Unmarshal(w.Body.Bytes(), into); err != nil {
		t.Fatalf("%s: %v: %s", path, err, w.Body)
	}
}
