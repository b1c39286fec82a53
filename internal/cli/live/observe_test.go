package live_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	k8stesting "k8s.io/client-go/testing"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/cli/live"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/traffic/routers"
)

// A route that the spec does not name is read where the condition says that the controller could not release it, whichever kinds the cluster has.
func TestRoutesThatAreNotReleased(t *testing.T) {
	for name, test := range map[string]struct {
		condition corev1.ConditionStatus
		want      []string
	}{
		"some are not":   {corev1.ConditionTrue, []string{"HTTPRoute/noted"}},
		"no word of any": {corev1.ConditionFalse, nil},
	} {
		t.Run(name, func(t *testing.T) {
			route := func(name string, notes map[string]string) *unstructured.Unstructured {
				o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute"}}
				o.SetNamespace("shop")
				o.SetName(name)
				o.SetAnnotations(notes)
				return o
			}
			note := func(owner string) map[string]string {
				return map[string]string{v1alpha1.GatewayAPINotesAnnotation: `{"` + owner + `":{"label":"x"}}`}
			}
			rollout := &v1alpha1.Rollout{
				TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.KindRollout},
				ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "ro"},
				Status: v1alpha1.RolloutStatus{Conditions: []v1alpha1.RolloutCondition{
					{Type: v1alpha1.ConditionRouteReleaseFailure, Status: test.condition},
				}},
			}
			scheme := runtime.NewScheme()
			for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, appsv1.AddToScheme, corev1.AddToScheme} {
				if err := add(scheme); err != nil {
					t.Fatal(err)
				}
			}
			lists := map[schema.GroupVersionResource]string{}
			for _, gvk := range routers.Kinds() {
				resource, _ := meta.UnsafeGuessKindToResource(gvk)
				lists[resource] = gvk.Kind + "List"
			}
			client := fake.NewSimpleDynamicClientWithCustomListKinds(scheme, lists,
				rollout, route("noted", note("shop/web")), route("another's", note("shop/other")), route("nobody's", nil))
			client.PrependReactor("list", "grpcroutes", func(k8stesting.Action) (bool, runtime.Object, error) {
				return true, nil, apierrors.NewNotFound(schema.GroupResource{Resource: "grpcroutes"}, "")
			})
			client.PrependReactor("list", "ingresses", func(k8stesting.Action) (bool, runtime.Object, error) {
				return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "ingresses"}, "", nil)
			})
			o, err := live.Client{Interface: client, Namespace: "shop"}.Observe(t.Context(), "web", time.Unix(0, 0))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for key := range o.Routes {
				got = append(got, key.Kind+"/"+key.Name)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// What the engine asks for as the API server has it now was read from there a moment ago. An Experiment that the course ahead creates is
// in no cluster yet, and stays.
func TestLookAnswersEveryNeed(t *testing.T) {
	for name, need := range map[string]change.Need{
		"Services":         change.NeedLiveServices{},
		"routes":           change.NeedLiveRouting{},
		"the Rollout":      change.NeedLiveRollout{},
		"an Experiment":    change.NeedLiveExperiment{Name: "web-v2-2-1"},
		"a version's pods": change.NeedPods{Hash: "v2"},
	} {
		t.Run(name, func(t *testing.T) {
			client, _ := newClient(t)
			o := plan.Observed{
				Rollout:     &v1alpha1.Rollout{},
				ReplicaSets: []*appsv1.ReplicaSet{},
				Experiments: []*v1alpha1.Experiment{{ObjectMeta: metav1.ObjectMeta{Name: "web-v2-2-1"}}},
			}
			if err := client.Look(t.Context(), &o, need); err != nil {
				t.Fatal(err)
			}
			var answered bool
			switch n := need.(type) {
			case change.NeedLiveServices:
				answered = o.ServicesLive
			case change.NeedLiveRouting:
				answered = o.ServicesLive && o.RoutesLive
			case change.NeedLiveRollout:
				answered = o.RolloutLive
			case change.NeedLiveExperiment:
				answered = o.LiveExperiment == n.Name && len(o.Experiments) == 1
			case change.NeedPods:
				_, answered = o.Pods[n.Hash]
			}
			if !answered {
				t.Errorf("the engine would ask again for %T", need)
			}
		})
	}
}
