package explore

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/sim"
)

// tenantKinds are those of which a tenant writes objects: all that the controller watches.
var tenantKinds = []schema.GroupKind{
	ofSluice(v1alpha1.KindRollout), ofSluice(v1alpha1.KindAnalysisRun), ofSluice(v1alpha1.KindExperiment), ofSluice(v1alpha1.KindAnalysisTemplate),
	{Group: "apps", Kind: "ReplicaSet"},
	{Kind: "Service"},
	{Group: "apps", Kind: "Deployment"},
	{Group: "gateway.networking.k8s.io", Kind: "HTTPRoute"},
	{Group: "networking.k8s.io", Kind: "Ingress"},
}

func ofSluice(kind string) schema.GroupKind {
	return schema.GroupKind{Group: v1alpha1.Group, Kind: kind}
}

// attack is something that a tenant does.
type attack struct {
	often int
	name  string
	// do does it, and returns what it was done to.
	do func(t *tenant) string
}

var attacks = []attack{
	{6, "copies what is at home", (*tenant).copyHome},
	{6, "writes a Rollout", (*tenant).writeRollout},
	{3, "writes an AnalysisRun", (*tenant).writeRun},
	{3, "writes an Experiment", (*tenant).writeExperiment},
	{5, "claims to belong to the Rollout at home", (*tenant).claim},
	{5, "forges values", (*tenant).forge},
	{5, "forges a status", (*tenant).forgeStatus},
	{3, "runs the pods that are asked for", (*tenant).runPods},
	{1, "deletes something", (*tenant).deleteOne},
}

// owned are the tenant's objects of a kind.
func (t *tenant) owned(k schema.GroupKind) []sim.Object {
	return slices.DeleteFunc(t.server.Objects(k), func(o sim.Object) bool { return sim.KeyOf(o).Namespace != tenants })
}

// kept is how many objects of a kind a tenant keeps; the oldest go first. Histories are about what is in objects, not about how many there are.
const kept = 5

// put stores an object in the tenant's namespace.
func (t *tenant) put(k schema.GroupKind, o sim.Object) string {
	o.SetNamespace(tenants)
	t.history.world.tenantPuts(k, o)
	if all := t.owned(k); len(all) > kept {
		t.history.world.TenantRemoves(k.Group, k.Kind, all[0].GetName())
	}
	return k.Kind + " " + o.GetName()
}

// any is one of the tenant's objects, nil if there is none.
func (t *tenant) any(kinds []schema.GroupKind) (schema.GroupKind, sim.Object) {
	first := t.IntN(len(kinds))
	for i := range kinds {
		k := kinds[(first+i)%len(kinds)]
		if all := t.owned(k); len(all) > 0 {
			return k, all[t.IntN(len(all))].DeepCopyObject().(sim.Object)
		}
	}
	return schema.GroupKind{}, nil
}

// copyHome stores a copy of something at home, with its name, labels, status and owner references. Half of the copies are forged further.
func (t *tenant) copyHome() string {
	first := t.IntN(len(tenantKinds))
	for i := range tenantKinds {
		k := tenantKinds[(first+i)%len(tenantKinds)]
		all := slices.DeleteFunc(t.server.Objects(k), func(o sim.Object) bool { return sim.KeyOf(o).Namespace != sim.Home })
		if len(all) == 0 {
			continue
		}
		o := all[t.IntN(len(all))].DeepCopyObject().(sim.Object)
		if t.IntN(2) == 0 {
			o = t.spoiled(o)
		}
		return t.put(k, o)
	}
	return "nothing"
}

// name is one that is taken at home, or a new one.
func (t *tenant) name() string {
	if t.IntN(2) == 0 {
		return "web"
	}
	t.made++
	return fmt.Sprintf("hostile-%d", t.made%kept)
}

// writeRollout stores a Rollout whose spec names what is at home, half of the time one with values from the edges.
func (t *tenant) writeRollout() string {
	ro := sim.NewRollout(t.name(), fmt.Sprintf("v%d", 1+t.IntN(4)), []int32{0, 1, 3, 1000, 2147483647}[t.IntN(5)])
	edges := fmt.Sprintf(strategies[t.IntN(len(strategies))], steps[t.IntN(len(steps))])
	if err := json.Unmarshal([]byte(edges), &ro.Spec); err != nil {
		panic(fmt.Sprintf("%s: %v", edges, err)) // it is written here
	}
	var o sim.Object = ro
	if t.IntN(3) == 0 {
		o = t.spoiled(o)
	}
	return t.put(ofSluice(v1alpha1.KindRollout), o)
}

// strategies are specs that name what is at home by namespace, or by names that are the same here. The verb stands for steps.
var strategies = []string{
	`{"strategy": {"canary": {"canaryService": "web-canary", "stableService": "web-stable", "steps": %s,
		"trafficRouting": {"maxTrafficWeight": 1000000, "gatewayAPI": {"httpRoute": "web", "namespace": "default"}}}}}`,
	`{"strategy": {"canary": {"canaryService": "web-canary", "stableService": "web-stable", "steps": %s,
		"trafficRouting": {"gatewayAPI": {"httpRoute": "web", "namespace": "default", "inProgressLabelKey": "team", "inProgressLabelValue": "team-a"}}}}}`,
	`{"strategy": {"canary": {"canaryService": "web-canary", "stableService": "web-stable", "steps": %s,
		"trafficRouting": {"managedRoutes": [{"name": "beta"}], "gatewayAPI": {"httpRoute": "web"}, "nginx": {"stableIngress": "web"}}}}}`,
	`{"strategy": {"canary": {"canaryService": "web-canary", "stableService": "web-stable", "steps": %s,
		"trafficRouting": {"nginx": {"stableIngresses": ["web", "default/web", "../default/web"]}}}}}`,
	`{"strategy": {"canary": {"steps": %s, "maxSurge": "100%%", "maxUnavailable": 0, "dynamicStableScale": true}}, "restartAt": "2026-01-01T00:00:00Z"}`,
	`{"strategy": {"blueGreen": {"activeService": "web-active", "previewService": "web-preview", "scaleDownDelaySeconds": 2147483647}}, "paused": false, "analysis": {}, "progressDeadlineSeconds": 1, "minReadySeconds": 0, "revisionHistoryLimit": 0, "rollbackWindow": {"revisions": 2147483647}, "strategyNote": %s}`,
	`{"strategy": {"canary": {"steps": %s}}, "selector": null, "template": null, "workloadRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "scaleDown": "onsuccess"}}`,
}

var steps = []string{
	`[]`,
	`[{"setWeight": 0}, {"setWeight": 100}, {"setWeight": 1}, {"pause": {}}]`,
	`[{"setWeight": 50}, {"pause": {"duration": "1s"}}, {"pause": {"duration": 2147483647}}]`,
	`[{"setCanaryScale": {"replicas": 2147483647}}, {"setHeaderRoute": {"name": "beta", "match": [{"headerName": "a", "headerValue": {"exact": "b"}}]}}, {"pause": {"duration": 5}}]`,
	`[{"analysis": {"templates": [{"templateName": "smoke"}]}}, {"analysis": {"templates": [{"templateName": "once"}, {"templateName": "watch"}]}}]`,
	`[{"experiment": {"duration": "10s", "templates": [{"name": "a", "specRef": "stable", "replicas": 1, "service": {"name": "web-active"}}]}}, {"setWeight": 5}, {"pause": {"duration": 1}}]`,
	`[{"setWeight": -1}]`, `[{}]`, `null`,
}

// writeRun stores an AnalysisRun that measures at the limits of what may be measured.
func (t *tenant) writeRun() string {
	run := &v1alpha1.AnalysisRun{ObjectMeta: metav1.ObjectMeta{Name: t.name()}}
	text := []string{
		`{"metrics": [{"name": "a", "interval": "1m", "count": 2147483647, "provider": {"web": {"url": "http://a"}}}]}`,
		`{"metrics": [{"name": "a", "interval": "1ns", "count": 3, "failureLimit": -1, "provider": {"web": {"url": "http://a"}}}]}`,
		`{"metrics": [{"name": "a", "initialDelay": "99999h", "provider": {"web": {"url": "http://a"}}}, {"name": "a", "provider": {}}]}`,
		`{"metrics": [{"name": "a", "count": "x", "successCondition": "result ==", "provider": {"web": {"url": "{{args.a}}"}}}], "args": [{"name": "a", "valueFrom": {"secretKeyRef": {"name": "web", "key": "a"}}}]}`,
		`{"terminate": true, "metrics": [{"name": "a", "provider": {"job": {"spec": {"template": {}}}}}]}`,
	}[t.IntN(5)]
	if err := json.Unmarshal([]byte(text), &run.Spec); err != nil {
		panic(fmt.Sprintf("%s: %v", text, err))
	}
	if t.IntN(2) == 0 {
		t.belong(run)
	}
	return t.put(ofSluice(v1alpha1.KindAnalysisRun), run)
}

// writeExperiment stores an Experiment whose templates want the names of what is at home.
func (t *tenant) writeExperiment() string {
	like := sim.NewRollout("web", "v1", 1)
	ex := &v1alpha1.Experiment{ObjectMeta: metav1.ObjectMeta{Name: t.name()}}
	ex.Spec.Duration = []v1alpha1.DurationString{"", "1s", "-5s", "x", "99999h"}[t.IntN(5)]
	for i := range 1 + t.IntN(2) {
		ex.Spec.Templates = append(ex.Spec.Templates, v1alpha1.TemplateSpec{
			Name: fmt.Sprintf("t%d", i), Replicas: new([]int32{0, 1, 2147483647}[t.IntN(3)]), Selector: like.Spec.Selector, Template: like.Spec.Template,
			Service: &v1alpha1.TemplateService{Name: []string{"", active, stableService, "shared-0"}[t.IntN(4)]},
		})
	}
	if t.IntN(2) == 0 {
		ex.Spec.Analyses = []v1alpha1.ExperimentAnalysisTemplateRef{{Name: "a", TemplateName: measured[t.IntN(len(measured))], RequiredForCompletion: true}}
	}
	if t.IntN(2) == 0 {
		t.belong(ex)
	}
	return t.put(ofSluice(v1alpha1.KindExperiment), ex)
}

// belong gives an object the marks of what belongs to a Rollout, or an Experiment, at home.
func (t *tenant) belong(o sim.Object) {
	var owner sim.Object
	kind := v1alpha1.KindRollout
	if ro := t.history.world.Rollout(); ro != nil {
		owner = ro
	}
	if all := t.history.world.Experiments(); len(all) > 0 && (owner == nil || t.IntN(3) == 0) {
		kind, owner = v1alpha1.KindExperiment, all[t.IntN(len(all))]
	}
	if owner == nil {
		return
	}
	o.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: kind, Name: owner.GetName(), UID: t.uid(owner), Controller: new(true),
	}})
	labels := maps.Clone(o.GetLabels())
	if labels == nil {
		labels = map[string]string{}
	}
	labels["app"] = "web"
	if sets := t.history.world.ReplicaSets(); len(sets) > 0 {
		labels[v1alpha1.PodTemplateHashLabel] = hashOf(sets[t.IntN(len(sets))])
	}
	labels[v1alpha1.RolloutTypeLabel] = []string{v1alpha1.RolloutTypeStep, v1alpha1.RolloutTypeBackground, v1alpha1.RolloutTypePrePromotion}[t.IntN(3)]
	labels[v1alpha1.StepIndexLabel] = []string{"0", "1", "-1", "x"}[t.IntN(4)]
	o.SetLabels(labels)
	annotations := maps.Clone(o.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[v1alpha1.ManagedByAnnotation] = owner.GetName()
	annotations[v1alpha1.RevisionAnnotation] = []string{"0", "1", "2147483648", "-1", "x"}[t.IntN(5)]
	if _, route := o.(*unstructured.Unstructured); route {
		annotations[v1alpha1.RolloutNamespacesAnnotation] = []string{"", "*", "default", "team-a, default,"}[t.IntN(4)]
		annotations[v1alpha1.GatewayAPINotesAnnotation] = fmt.Sprintf(
			`{"default/%[1]s": {"services": {"web-canary": ["a"]}, "label": "team", "rules": ["a"]}, "team-a/%[1]s": {"services": {"web-canary": []}}, "%[1]s": 5}`, owner.GetName())
	}
	o.SetAnnotations(annotations)
}

// uid is that of an object, or one that it never had.
func (t *tenant) uid(of sim.Object) types.UID {
	if t.IntN(4) == 0 {
		return "forged"
	}
	return of.GetUID()
}

// claim gives one of the tenant's objects the marks of what belongs to a Rollout at home.
func (t *tenant) claim() string {
	k, o := t.any(tenantKinds[1:])
	if o == nil {
		return "nothing"
	}
	t.belong(o)
	return t.put(k, o)
}

// forge replaces values of one of the tenant's objects.
func (t *tenant) forge() string {
	k, o := t.any(tenantKinds)
	if o == nil {
		return "nothing"
	}
	return t.put(k, t.spoiled(o))
}

// forgeStatus gives one of the tenant's objects a status from the edges of what the schema lets through.
func (t *tenant) forgeStatus() string {
	kinds := []schema.GroupKind{
		ofSluice(v1alpha1.KindRollout), ofSluice(v1alpha1.KindAnalysisRun), ofSluice(v1alpha1.KindExperiment), {Group: "apps", Kind: "ReplicaSet"},
	}
	k, o := t.any(kinds)
	if o == nil {
		return "nothing"
	}
	text := statuses[k.Kind][t.IntN(len(statuses[k.Kind]))]
	return t.put(k, t.with(o, func(tree map[string]any) {
		var status any
		if err := json.Unmarshal([]byte(text), &status); err != nil {
			panic(fmt.Sprintf("%s: %v", text, err))
		}
		tree["status"] = status
	}))
}

// statuses are those that a tenant writes.
var statuses = map[string][]string{
	v1alpha1.KindRollout: {
		`{}`, `{"currentStepIndex": 2147483647, "stableRS": "none", "currentPodHash": "none", "phase": "Healthy", "collisionCount": 2147483647}`,
		`{"abort": true, "abortedAt": "2026-01-01T00:00:00Z", "canary": {"weights": {"canary": {"weight": -5, "serviceName": "web-stable"}}}}`,
		`{"canary": {"currentExperiment": "demo-1", "currentStepAnalysisRunStatus": {"name": "web", "status": "Successful"}}, "blueGreen": {"activeSelector": "x"}}`,
		`{"pauseConditions": [{"reason": "CanaryPauseStep", "startTime": "2262-01-01T00:00:00Z"}], "controllerPause": true, "promoteFull": true}`,
		`{"phase": 5, "conditions": [null, 1], "currentStepIndex": "x"}`,
	},
	v1alpha1.KindAnalysisRun: {
		`{}`, `{"phase": "Successful"}`, `{"phase": "Running", "startedAt": "2262-01-01T00:00:00Z"}`, `{"phase": "made up"}`,
		`{"phase": "Running", "metricResults": [{"name": "a", "phase": "Running", "count": -1, "measurements": [{"phase": "Running", "metadata": {"job-namespace": "default", "job-name": "web"}}, null]}]}`,
	},
	v1alpha1.KindExperiment: {
		`{}`, `{"phase": "Successful"}`, `{"phase": "Running", "availableAt": "2262-01-01T00:00:00Z"}`, `{"phase": 5}`,
		`{"phase": "Running", "templateStatuses": [{"name": "t0", "serviceName": "web-stable", "podTemplateHash": "x", "status": "Running"}], "analysisRuns": [{"name": "a", "analysisRun": "web", "phase": "Successful"}]}`,
	},
	"ReplicaSet": {`{}`, `{"replicas": -1, "availableReplicas": 2147483647, "readyReplicas": 2147483647}`, `{"observedGeneration": 2147483647}`},
}

// runPods has all the tenant's ReplicaSets report the pods that they ask for, without which no update of theirs would get far.
func (t *tenant) runPods() string {
	k := schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}
	for _, o := range t.owned(k) {
		rs := o.DeepCopyObject().(*appsv1.ReplicaSet)
		n := int32(1)
		if rs.Spec.Replicas != nil {
			n = *rs.Spec.Replicas
		}
		rs.Status = appsv1.ReplicaSetStatus{Replicas: n, ReadyReplicas: n, AvailableReplicas: n, FullyLabeledReplicas: n, ObservedGeneration: rs.Generation}
		t.put(k, rs)
	}
	return "all ReplicaSets"
}

func (t *tenant) deleteOne() string {
	k, o := t.any(tenantKinds)
	if o == nil {
		return "nothing"
	}
	t.history.world.TenantRemoves(k.Group, k.Kind, o.GetName())
	return k.Kind + " " + o.GetName()
}

// edges are values that stand where others are expected.
var edges = []any{
	nil, true, 0, -1, 1, 100, 101, 2147483647, 4294967296, 0.5, "", "x", "0", "-1", "25%", "1h", "web", "default", "default/web",
	"2026-01-31T12:00:00Z", "2262-01-01T00:00:00Z", "{{args.a}}",
	[]any{},
	[]any{nil},
	map[string]any{},
	map[string]any{"name": 5},
}

// spoiled is an object with some of its values replaced, or the object itself where no API server would store the result. Of Kubernetes' own
// kinds that is the status and the size: what else they say is validated.
func (t *tenant) spoiled(o sim.Object) sim.Object {
	parts := []string{"spec", "status"}
	switch o := o.(type) {
	case *appsv1.ReplicaSet:
		o.Spec.Replicas = new([]int32{0, 1, 1000, 2147483647}[t.IntN(4)])
		parts = parts[1:]
	case *appsv1.Deployment:
		o.Spec.Replicas = new([]int32{0, 1, 1000, 2147483647}[t.IntN(4)])
		parts = parts[1:]
	case *corev1.Service:
		parts = parts[1:]
	}
	return t.with(o, func(tree map[string]any) {
		for _, part := range parts {
			if tree[part] != nil {
				tree[part] = t.spoil(tree[part])
			}
		}
	})
}

func (t *tenant) spoil(value any) any {
	if t.IntN(25) == 0 {
		return edges[t.IntN(len(edges))]
	}
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			v[key] = t.spoil(v[key])
		}
	case []any:
		for i := range v {
			v[i] = t.spoil(v[i])
		}
	}
	return value
}

// with is an object whose JSON was changed, decoded as the controller decodes it. What does not decode, an API server refuses: kinds of
// Kubernetes have types there.
func (t *tenant) with(o sim.Object, change func(map[string]any)) sim.Object {
	text, err := json.Marshal(o)
	if err != nil {
		return o
	}
	var tree map[string]any
	if json.Unmarshal(text, &tree) != nil {
		return o
	}
	change(tree)
	if text, err = json.Marshal(tree); err != nil {
		return o
	}
	next := reflect.New(reflect.TypeOf(o).Elem()).Interface().(sim.Object)
	if json.Unmarshal(text, next) != nil || next.GetName() != o.GetName() {
		return o
	}
	return next
}
