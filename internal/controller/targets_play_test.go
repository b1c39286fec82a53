package controller_test

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/elb/elbtest"
	"github.com/sluice-delivery/sluice/internal/playtest"
	"github.com/sluice-delivery/sluice/internal/traffic/alb"
)

// targets are the target groups of Services in a namespace, and AWS, where the test registers pods in them.
type targets struct {
	t   *testing.T
	ns  *playtest.Namespace
	aws *elbtest.Account
}

// newTargets binds Services to target groups, and has the namespace's controllers ask the account.
func newTargets(t *testing.T, ns *playtest.Namespace, services ...string) *targets {
	t.Helper()
	aws := &targets{t, ns, elbtest.New(t, elbtest.State{Ingress: ns.Name + "/web", Targets: map[string][]string{}})}
	ns.Env = append(ns.Env, "AWS_REGION=eu-west-1", "AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test", "AWS_ENDPOINT_URL="+aws.aws.URL)
	for _, service := range services {
		aws.aws.Set(func(s *elbtest.State) { s.Targets[elbtest.Group(service)] = nil })
		binding := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "elbv2.k8s.aws/v1beta1", "kind": "TargetGroupBinding", "metadata": map[string]any{"namespace": ns.Name, "name": service},
			"spec": map[string]any{"targetGroupARN": elbtest.Group(service), "targetType": "ip", "serviceRef": map[string]any{"name": service, "port": int64(80)}},
		}}
		if err := ns.Client.Create(t.Context(), binding); err != nil {
			t.Fatal(err)
		}
	}
	return aws
}

// register registers the pods of a version in the target group of a Service, as the AWS Load Balancer Controller does after a while.
func (a *targets) register(service, hash string) {
	a.t.Helper()
	var pods corev1.PodList
	if err := a.ns.Client.List(a.t.Context(), &pods, client.InNamespace(a.ns.Name), client.MatchingLabels{v1alpha1.PodTemplateHashLabel: hash}); err != nil || len(pods.Items) == 0 {
		a.t.Fatalf("%d pods of %s: %v", len(pods.Items), hash, err)
	}
	var all []string
	for _, pod := range pods.Items {
		all = append(all, net.JoinHostPort(pod.Status.PodIP, "80"))
	}
	a.aws.Set(func(s *elbtest.State) { s.Targets[elbtest.Group(service)] = all })
}

func (a *targets) waitFor(message string) *v1alpha1.Rollout {
	a.t.Helper()
	return a.ns.WaitForRollout("web", "to say "+message, func(ro *v1alpha1.Rollout) bool { return strings.Contains(ro.Status.Message, message) })
}

// Blue-green: when the active Service selects the new version, the old one keeps its pods and stays the stable one until AWS has registered the new
// pods, whatever AWS answers in between, and through a change of the controller.
func TestBlueGreenWaitsForTargetGroups(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	createServices(t, ns, "active")
	aws := newTargets(t, ns, "active")
	ns.StartController("--aws-verify-target-group")
	ns.CreateRollout(blueGreen(2, `{activeService: active, scaleDownDelaySeconds: 1}`))
	first := ns.WaitForRollout("web", "to be Healthy", playtest.Healthy).Status.CurrentPodHash
	aws.register("active", first)

	history := ns.Record()
	ns.SetImage("web", "nginx:2")
	const waits = `waiting for target group active/1 to register the pods of Service "active": 0 of 2 are registered`
	second := aws.waitFor(waits).Status.CurrentPodHash
	ns.WaitForService("active", "to select the second version", func(s *corev1.Service) bool {
		return s.Spec.Selector[v1alpha1.PodTemplateHashLabel] == second
	})
	ns.WaitForEvents("web", "TargetGroupUnverified Targets are not verified yet: "+waits)
	ns.StopController(syscall.SIGKILL)
	aws.aws.Set(func(s *elbtest.State) { s.Broken = true })
	ns.StartController("--aws-verify-target-group")
	if ro := aws.waitFor("waiting for AWS to answer: describe target health: "); ro.Status.StableRS != first {
		t.Errorf("%s is the stable version though AWS has not answered", ro.Status.StableRS)
	}
	for _, p := range history.Stop() {
		if set, ok := p.Sets[first]; !ok || *set.Spec.Replicas != 2 {
			t.Errorf("the first version lost pods at %s", p)
		}
	}
	aws.register("active", second)
	aws.aws.Set(func(s *elbtest.State) { s.Broken = false })
	ns.WaitForRollout("web", "to be Healthy on the second version", both(playtest.Healthy, revision("2"), func(ro *v1alpha1.Rollout) bool {
		return ro.Status.Replicas == 2 && ro.Status.StableRS == second
	}))
}

// A canary behind an ALB: the first weight waits until the canary's pods are registered. After the update the stable Service selects the new version,
// and gets traffic when its target group has the new pods; only then the old ones go.
func TestCanaryWaitsForTargetGroups(t *testing.T) {
	t.Parallel()
	ns, aws := newALB(t)
	ns.StartController("--alb-verify-weight") // the former name
	ns.CreateRollout(canary(2, `{stableService: web-stable, canaryService: web-canary, scaleDownDelaySeconds: 1, trafficRouting: {alb: {ingress: web, servicePort: 80}}, steps: [{setWeight: 50}, {pause: {}}]}`))
	first := ns.WaitForRollout("web", "to be Healthy", playtest.Healthy).Status.CurrentPodHash
	aws.register("web-stable", first)
	ns.SetImage("web", "nginx:2")
	second := aws.waitFor(`waiting for target group web-canary/1 to register the pods of Service "web-canary": 0 of 1 are registered`).Status.CurrentPodHash
	if w := aws.weights(); w["web-canary"] != 0 {
		t.Errorf("the canary got traffic before AWS knew of its pods: %v", w)
	}
	aws.register("web-canary", second)
	ns.WaitForRollout("web", "to pause", playtest.AtStep(1))

	history := ns.Record()
	ns.PatchStatus("web", resume)
	ns.WaitForRollout("web", "to have all pods of the second version", func(ro *v1alpha1.Rollout) bool { return ro.Status.UpdatedReplicas == 2 })
	aws.register("web-canary", second)
	aws.waitFor(`waiting for target group web-stable/1 to register the pods of Service "web-stable": 0 of 2 are registered`)
	if w := aws.weights(); w["web-stable"] != 0 {
		t.Errorf("the stable Service got traffic before AWS knew of its new pods: %v", w)
	}
	for _, p := range history.Stop() {
		if set, ok := p.Sets[first]; !ok || *set.Spec.Replicas == 0 {
			t.Errorf("the first version lost its pods at %s", p)
		}
	}
	aws.register("web-stable", second)
	ns.WaitForRollout("web", "to be Healthy on the second version", both(playtest.Healthy, revision("2"), func(ro *v1alpha1.Rollout) bool {
		return ro.Status.Replicas == 2 && ro.Status.StableRS == second
	}))
}

// Analyses read the target groups of both versions in the status: one in the background, which begins before any weight of the first update is asked
// for, and one of a step.
func TestAnalysesReadTargetGroups(t *testing.T) {
	t.Parallel()
	ns, aws := newALB(t)
	template := templateSpec("errors")
	template.Args = []v1alpha1.Argument{{Name: "hash", ValueFrom: &v1alpha1.ValueFrom{FieldRef: &v1alpha1.FieldRef{FieldPath: "status.alb.canaryTargetGroup.fullName"}}}}
	createObject(t, ns, &v1alpha1.AnalysisTemplate{ObjectMeta: metav1.ObjectMeta{Name: "errors", Namespace: ns.Name}, Spec: template})
	ns.StartController("--aws-verify-target-group")
	const reads = `{templates: [{templateName: errors}], args: [{name: hash, valueFrom: {fieldRef: {fieldPath: "status.albs[0].stableTargetGroup.fullName"}}}]}`
	ns.CreateRollout(canary(2, `{stableService: web-stable, canaryService: web-canary, scaleDownDelaySeconds: 1, analysis: {templates: [{templateName: errors}]},
  trafficRouting: {alb: {ingress: web, servicePort: 80}}, steps: [{setWeight: 50}, {analysis: `+reads+`}, {pause: {}}]}`))
	first := ns.WaitForRollout("web", "to be Healthy", playtest.Healthy).Status.CurrentPodHash
	aws.register("web-stable", first)
	ns.SetImage("web", "nginx:2")
	aws.register("web-canary", aws.waitFor(`to register the pods of Service "web-canary": 0 of 1 are registered`).Status.CurrentPodHash)
	ro := ns.WaitForRollout("web", "to begin the analysis of its step", func(ro *v1alpha1.Rollout) bool {
		return ro.Status.Canary.CurrentStepAnalysisRunStatus != nil && ro.Status.Canary.CurrentBackgroundAnalysisRunStatus != nil
	})
	ref := func(name, arn, fully string) v1alpha1.AwsResourceRef {
		return v1alpha1.AwsResourceRef{Name: name, ARN: arn, FullName: fully}
	}
	want := v1alpha1.ALBStatus{
		Ingress: "web", LoadBalancer: ref("web", elbtest.Balancer, "web/50dc6c495c0c9188"),
		CanaryTargetGroup: ref("web-canary", elbtest.Group("web-canary"), "web-canary/1"), StableTargetGroup: ref("web-stable", elbtest.Group("web-stable"), "web-stable/1"),
	}
	if diff := cmp.Diff(&want, ro.Status.ALB) + cmp.Diff([]v1alpha1.ALBStatus{want}, ro.Status.ALBs); diff != "" {
		t.Error(diff)
	}
	for name, group := range map[string]string{
		ro.Status.Canary.CurrentBackgroundAnalysisRunStatus.Name: "web-canary/1", ro.Status.Canary.CurrentStepAnalysisRunStatus.Name: "web-stable/1",
	} {
		run := ns.WaitForAnalysisRun(name, "to have begun", func(*v1alpha1.AnalysisRun) bool { return true })
		if got := *run.Spec.Args[0].Value; got != group {
			t.Errorf("%s reads %s, want %s", name, got, group)
		}
	}

	ns.StopController(syscall.SIGKILL)
	ns.StartController() // without verification
	ns.PatchStatus("web", `{"status":{"abort":true}}`)
	if ro := ns.WaitForRollout("web", "to be aborted", playtest.Degraded); ro.Status.ALB != nil || len(ro.Status.ALBs) > 0 {
		t.Errorf("without verification the status has %+v", ro.Status.ALBs)
	}
}

// A Rollout that is aborted gives its traffic back at once, also while AWS does not answer.
func TestAnAbortDoesNotWaitForAWS(t *testing.T) {
	t.Parallel()
	ns, aws := newALB(t)
	ns.StartController("--aws-verify-target-group")
	ns.CreateRollout(canary(2, `{stableService: web-stable, canaryService: web-canary, scaleDownDelaySeconds: 1, abortScaleDownDelaySeconds: 1, trafficRouting: {alb: {ingress: web, servicePort: 80}}, steps: [{setCanaryScale: {replicas: 2}}, {pause: {duration: 1}}, {setWeight: 100}, {pause: {}}]}`))
	first := ns.WaitForRollout("web", "to be Healthy", playtest.Healthy).Status.CurrentPodHash
	aws.register("web-stable", first)
	ns.SetImage("web", "nginx:2")
	second := aws.waitFor(`Service "web-canary": 0 of 2 are registered`).Status.CurrentPodHash
	aws.register("web-canary", second)
	ns.WaitForRollout("web", "to pause with all traffic at the canary", playtest.AtStep(3))
	aws.aws.Set(func(s *elbtest.State) { s.Broken = true })
	ns.PatchStatus("web", `{"status":{"abort":true}}`)
	ns.WaitUntil("the stable Service gets everything", func() error {
		if w := aws.weights(); w["web-stable"] != 100 {
			return fmt.Errorf("it gets %v", w)
		}
		return nil
	})
	aws.waitFor("waiting for AWS to answer")
	if sets := ns.ReplicaSets(); slices.ContainsFunc(sets, func(s appsv1.ReplicaSet) bool { return *s.Spec.Replicas != 2 }) {
		t.Error("pods were removed though AWS had not confirmed the weight")
	}
	aws.aws.Set(func(s *elbtest.State) { s.Broken = false })
	ns.WaitForRollout("web", "to have the pods of the first version only", func(ro *v1alpha1.Rollout) bool { return ro.Status.Replicas == 2 })
}

// newALB is a namespace with a stable and a canary Service, and an Ingress whose load balancer forwards as it says.
func newALB(t *testing.T) (*playtest.Namespace, *targets) {
	t.Helper()
	ns := playtest.New(t)
	createServices(t, ns, "web-stable", "web-canary")
	aws := newTargets(t, ns, "web-stable", "web-canary")
	ingress := &unstructured.Unstructured{}
	manifest := `{metadata: {name: web}, spec: {rules: [{http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web-stable, port: {name: use-annotation}}}}]}}]}}`
	if err := yaml.Unmarshal([]byte(manifest), &ingress.Object); err != nil {
		t.Fatal(err)
	}
	ingress.SetGroupVersionKind(alb.GVK)
	ingress.SetNamespace(ns.Name)
	if err := ns.Client.Create(t.Context(), ingress); err != nil {
		t.Fatal(err)
	}
	patch := `{"status":{"loadBalancer":{"ingress":[{"hostname":"` + elbtest.Host + `"}]}}}`
	if err := ns.Client.Status().Patch(t.Context(), ingress, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		t.Fatal(err)
	}
	aws.forward()
	return ns, aws
}

// weights are those that the Ingress has for the Services.
func (a *targets) weights() map[string]int64 {
	a.t.Helper()
	w, err := a.weightsIn(a.t.Context())
	if err != nil {
		a.t.Fatal(err)
	}
	return w
}

func (a *targets) weightsIn(ctx context.Context) (map[string]int64, error) {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(alb.GVK)
	if err := a.ns.Client.Get(ctx, client.ObjectKey{Namespace: a.ns.Name, Name: "web"}, o); err != nil {
		return nil, err
	}
	all := map[string]int64{}
	forwards, _, _ := alb.Forwards(o, "web")
	for _, f := range forwards {
		all[f.Service] = f.Weight
	}
	return all, nil
}

// forward has the load balancer forward as the Ingress says, until the test ends.
func (a *targets) forward() {
	a.aws.Set(func(s *elbtest.State) { s.Tagged = []string{"web-stable", "web-canary"} })
	ctx := a.t.Context()
	go func() {
		for ctx.Err() == nil {
			if weights, err := a.weightsIn(ctx); err == nil {
				var rule []string
				for service, weight := range weights {
					rule = append(rule, fmt.Sprintf("%s=%d", service, weight))
				}
				a.aws.Set(func(s *elbtest.State) { s.Rules = []string{strings.Join(rule, " ")} })
			}
			select {
			case <-ctx.Done():
			case <-time.After(200 * time.Millisecond):
			}
		}
	}()
}
