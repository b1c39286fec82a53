package controller

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan"
)

// versionOf is a ReplicaSet with a number of pods, all of them available.
func versionOf(hash string, pods int32) *appsv1.ReplicaSet {
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: "web-" + hash, Labels: map[string]string{v1alpha1.PodTemplateHashLabel: hash}},
		Spec:       appsv1.ReplicaSetSpec{Replicas: &pods}, Status: appsv1.ReplicaSetStatus{AvailableReplicas: pods},
	}
}

func selecting(name, hash string) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.ServiceSpec{Selector: map[string]string{v1alpha1.PodTemplateHashLabel: hash}}}
}

// AWS is asked about the Services that users arrive at, when pods of another version go, when the stable version changes, and before an analysis that
// follows the switch.
func TestWhatAPlanLeansOn(t *testing.T) {
	shrinks := func(hash string) []change.Change {
		return []change.Change{change.UpdateReplicaSet{From: versionOf(hash, 2), To: versionOf(hash, 1)}}
	}
	grows := []change.Change{change.UpdateReplicaSet{From: versionOf("a", 1), To: versionOf("a", 2)}}
	analysis := []change.Change{change.CreateAnalysisRun{}}
	scale := func(from, to int32) []change.Change {
		return []change.Change{change.ScaleWorkload{From: &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: &from}}, To: &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: &to}}}}
	}
	for name, row := range map[string]struct {
		blueGreen bool
		active    string // the version that the active or the stable Service selects
		route     []change.Change
		judge     []change.Change
		shrink    []change.Change
		stable    string // the stable version that the plan records
		weights   [2]int32
		want      string
	}{
		"nothing":                               {blueGreen: true, active: "b", stable: "a"},
		"the new version becomes stable":        {blueGreen: true, active: "b", stable: "b", want: "active web-b"},
		"and is pointed to in the same plan":    {blueGreen: true, active: "a", route: []change.Change{change.UpdateService{From: selecting("active", "a"), To: selecting("active", "b")}}, stable: "b", want: "active web-b"},
		"the old pods go":                       {blueGreen: true, active: "b", shrink: shrinks("a"), stable: "a", want: "active web-b"},
		"the old ReplicaSet is deleted":         {blueGreen: true, active: "b", shrink: []change.Change{change.DeleteReplicaSet{ReplicaSet: versionOf("a", 2)}}, stable: "a", want: "active web-b"},
		"an empty ReplicaSet is deleted":        {blueGreen: true, active: "b", shrink: []change.Change{change.DeleteReplicaSet{ReplicaSet: versionOf("a", 0)}}, stable: "a"},
		"its own pods go":                       {blueGreen: true, active: "a", shrink: shrinks("a"), stable: "a"},
		"an aborted version's pods go":          {blueGreen: true, active: "a", shrink: shrinks("b"), stable: "a", want: "active web-a"},
		"old pods come":                         {blueGreen: true, active: "b", shrink: grows, stable: "a"},
		"the Deployment it came from shrinks":   {blueGreen: true, active: "b", shrink: scale(3, 1), stable: "a", want: "active web-b"},
		"the Deployment it came from grows":     {blueGreen: true, active: "b", shrink: scale(1, 3), stable: "a"},
		"an analysis before the switch":         {blueGreen: true, active: "a", judge: analysis, stable: "a"},
		"an analysis after the switch":          {blueGreen: true, active: "b", judge: analysis, stable: "a", want: "active web-b"},
		"an analysis of a canary":               {active: "a", judge: analysis, stable: "a"},
		"which has all traffic":                 {active: "a", weights: [2]int32{100, 0}, shrink: shrinks("a"), stable: "a", want: "canary web-b"},
		"which has none":                        {active: "a", weights: [2]int32{0, 100}, shrink: shrinks("c"), stable: "a", want: "stable web-a"},
		"a canary's old pods go":                {active: "b", shrink: shrinks("a"), stable: "b", want: "canary web-b, stable web-b"},
		"the stable pods go in the middle":      {active: "a", shrink: shrinks("a"), stable: "a", want: "canary web-b"},
		"the canary's pods go":                  {active: "a", shrink: shrinks("b"), stable: "a", want: "stable web-a"},
		"the first version of all, which lacks": {blueGreen: true, active: "c", stable: "b"}, // no ReplicaSet c
	} {
		t.Run(name, func(t *testing.T) {
			ro := &v1alpha1.Rollout{}
			service, services := "stable", []*corev1.Service{selecting("canary", "b"), selecting("preview", "b")}
			ro.Spec.Strategy.Canary = &v1alpha1.CanaryStrategy{StableService: "stable", CanaryService: "canary"}
			if row.blueGreen {
				ro.Spec.Strategy.Canary, ro.Spec.Strategy.BlueGreen = nil, &v1alpha1.BlueGreenStrategy{ActiveService: "active", PreviewService: "preview"}
				service = "active"
			}
			ro.Status.StableRS, ro.Status.CurrentPodHash = "a", "b"
			to := ro.DeepCopy()
			to.Status.StableRS = row.stable
			if row.weights != [2]int32{} {
				to.Status.Canary.Weights = &v1alpha1.TrafficWeights{Canary: v1alpha1.WeightDestination{ServiceName: "canary", Weight: row.weights[0]}, Stable: v1alpha1.WeightDestination{ServiceName: "stable", Weight: row.weights[1]}}
			}
			seen := plan.Observed{Rollout: ro, Services: append(services, selecting(service, row.active)), ReplicaSets: []*appsv1.ReplicaSet{versionOf("a", 2), versionOf("b", 2)}}
			var got []string
			for _, s := range leaned(seen, plan.Plan{Route: row.route, Judge: row.judge, Shrink: row.shrink, Record: &plan.Record{From: ro, To: to}}) {
				got = append(got, s.service+" "+s.set.Name)
			}
			if text := strings.Join(got, ", "); text != row.want {
				t.Errorf("%q, want %q", text, row.want)
			}
		})
	}
}

// What goes back to the stable version does not wait for AWS.
func TestWhatReturns(t *testing.T) {
	at := func(canary, stable string) v1alpha1.RolloutStatus {
		return v1alpha1.RolloutStatus{StableRS: stable, Canary: v1alpha1.CanaryStatus{Weights: &v1alpha1.TrafficWeights{Canary: v1alpha1.WeightDestination{PodTemplateHash: canary}}}}
	}
	for name, row := range map[string]struct {
		was  v1alpha1.RolloutStatus
		to   string
		want bool
	}{
		"back to the stable version": {at("b", "a"), "a", true},
		"to the canary":              {at("b", "a"), "b", false},
		"after an update":            {at("b", "b"), "b", false},
		"nothing is known":           {v1alpha1.RolloutStatus{StableRS: "a"}, "a", false},
	} {
		if got := returning(row.was, sending{"web", versionOf(row.to, 2)}); got != row.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A binding counts if its targets are addresses and it says which.
func TestBindingOf(t *testing.T) {
	object := func(edit func(spec, ref map[string]any)) map[string]any {
		ref := map[string]any{"name": "web", "port": int64(80)}
		spec := map[string]any{"targetGroupARN": "arn:x", "targetType": "ip", "serviceRef": ref}
		edit(spec, ref)
		return map[string]any{"spec": spec}
	}
	for name, row := range map[string]struct {
		edit func(spec, ref map[string]any)
		want binding // none if empty
	}{
		"by number": {func(_, _ map[string]any) {}, binding{"arn:x", discoveryv1.AddressTypeIPv4, "80"}},
		"by name":   {func(_, ref map[string]any) { ref["port"] = "http" }, binding{"arn:x", discoveryv1.AddressTypeIPv4, "http"}},
		"IPv6":      {func(spec, _ map[string]any) { spec["ipAddressType"] = "ipv6" }, binding{"arn:x", discoveryv1.AddressTypeIPv6, "80"}},
		"of nodes":  {func(spec, _ map[string]any) { spec["targetType"] = "instance" }, binding{}},
		"no type":   {func(spec, _ map[string]any) { delete(spec, "targetType") }, binding{}},
		"no ARN":    {func(spec, _ map[string]any) { delete(spec, "targetGroupARN") }, binding{}},
		"long ARN":  {func(spec, _ map[string]any) { spec["targetGroupARN"] = strings.Repeat("x", longestARN+1) }, binding{}},
		"no port":   {func(_, ref map[string]any) { ref["port"] = true }, binding{}},
		"nobody":    {func(spec, _ map[string]any) { spec["serviceRef"] = "web" }, binding{}},
	} {
		service, got, ok := bindingOf(object(row.edit))
		if ok != (row.want.arn != "") || ok && (got != row.want || service != "web") {
			t.Errorf("%s: %s %v %v", name, service, got, ok)
		}
	}
}

// The addresses are those of the version's ready pods, of one family, with the port that the Service's port leads to.
func TestAddressesOfABinding(t *testing.T) {
	pod := func(name, address string, ready bool) discoveryv1.Endpoint {
		return discoveryv1.Endpoint{Addresses: []string{address}, TargetRef: &corev1.ObjectReference{Kind: "Pod", Name: name}, Conditions: discoveryv1.EndpointConditions{Ready: &ready}}
	}
	of := func(family discoveryv1.AddressType, port int32, endpoints ...discoveryv1.Endpoint) discoveryv1.EndpointSlice {
		return discoveryv1.EndpointSlice{AddressType: family, Endpoints: endpoints, Ports: []discoveryv1.EndpointPort{{Name: new("http"), Port: &port}, {Name: new("admin"), Port: new(int32(9000))}}}
	}
	endpoints := []discoveryv1.EndpointSlice{
		of(discoveryv1.AddressTypeIPv4, 8080, pod("web-b-22222", "10.0.0.2", true), pod("web-b-11111", "10.0.0.1", true), pod("web-b-33333", "10.0.0.3", false), pod("web-a-11111", "10.0.0.4", true)),
		of(discoveryv1.AddressTypeIPv4, 8081, pod("web-b-44444", "10.0.0.5", true)), // a named target port may differ from pod to pod
		of(discoveryv1.AddressTypeIPv6, 8080, pod("web-b-11111", "2001:db8::1", true)),
	}
	service := &corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80}, {Name: "admin", Port: 81}}}}
	set := versionOf("b", 3)
	for name, row := range map[string]struct {
		port   string
		family discoveryv1.AddressType
		want   string
	}{
		"by number":    {"80", discoveryv1.AddressTypeIPv4, "10.0.0.1:8080 10.0.0.2:8080 10.0.0.5:8081"},
		"by name":      {"admin", discoveryv1.AddressTypeIPv4, "10.0.0.1:9000 10.0.0.2:9000 10.0.0.5:9000"},
		"IPv6":         {"80", discoveryv1.AddressTypeIPv6, "[2001:db8::1]:8080"},
		"another port": {"8080", discoveryv1.AddressTypeIPv4, ""},
	} {
		got := binding{"arn:x", row.family, row.port}.addresses(endpoints, set, service)
		if strings.Join(got, " ") != row.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if n := listedPods(endpoints, set); n != 3 {
		t.Errorf("%d pods are listed", n)
	}
	ro := &v1alpha1.Rollout{Spec: v1alpha1.RolloutSpec{Strategy: v1alpha1.RolloutStrategy{Canary: &v1alpha1.CanaryStrategy{PingPong: &v1alpha1.PingPongSpec{PingService: "ping", PongService: "pong"}}}}}
	if names := arrivals(ro); !slices.Equal(names, []string{"ping", "pong"}) {
		t.Errorf("users arrive at %v", names)
	}
}

// boundCluster has the kind of one group only, and answers lists of it.
type boundCluster struct {
	client.Reader
	answer func(*unstructured.UnstructuredList) error
}

func (c boundCluster) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	return c.answer(list.(*unstructured.UnstructuredList))
}

// Without the right to list TargetGroupBindings the Rollout says which right is missing; a kind that the cluster does not have needs none.
func TestBindings(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Group: "eks.amazonaws.com", Resource: "targetgroupbindings"}, "", errors.New("no"))
	for name, row := range map[string]struct {
		answer  func(*unstructured.UnstructuredList) error
		awaited string
		fails   string
		rights  bool
		bound   int
	}{
		"one": {answer: func(l *unstructured.UnstructuredList) error {
			l.Items = []unstructured.Unstructured{{Object: map[string]any{"spec": map[string]any{"targetGroupARN": "arn:x", "targetType": "ip", "serviceRef": map[string]any{"name": "web", "port": int64(80)}}}}}
			return nil
		}, bound: 1},
		"too many": {answer: func(l *unstructured.UnstructuredList) error {
			l.SetContinue("more")
			return nil
		}, awaited: `namespace "shop" to have at most 500 TargetGroupBindings`},
		"no right":        {answer: func(*unstructured.UnstructuredList) error { return forbidden }, fails: "grant the controller list on targetgroupbindings.eks.amazonaws.com, with the Helm value rbac.routers.alb=true", rights: true},
		"gone":            {answer: func(*unstructured.UnstructuredList) error { return apierrors.NewNotFound(schema.GroupResource{}, "x") }},
		"no API server":   {answer: func(*unstructured.UnstructuredList) error { return errors.New("refused") }, fails: "list the TargetGroupBindings of namespace shop: refused"},
		"nobody is bound": {answer: func(*unstructured.UnstructuredList) error { return nil }},
	} {
		mapper := meta.NewDefaultRESTMapper(nil)
		mapper.Add(targetGroupBindings[1], meta.RESTScopeNamespace)
		r := NewRolloutReconciler(Deps{Live: boundCluster{answer: row.answer}, Mapper: mapper, Log: slog.New(slog.DiscardHandler)})
		bindings, awaited, err := r.bindings(t.Context(), "shop")
		var lacks noRights
		if len(bindings["web"]) != row.bound || awaited != row.awaited || (err == nil) != (row.fails == "") || err != nil && !strings.Contains(err.Error(), row.fails) || errors.As(err, &lacks) != row.rights {
			t.Errorf("%s: %v, %q, %v", name, bindings, awaited, err)
		}
	}
}
