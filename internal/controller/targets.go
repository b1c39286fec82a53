package controller

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/elb"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
)

// A load balancer of AWS that sends to the addresses of pods knows of them by a target group. When a Service begins to select another version, the
// AWS Load Balancer Controller takes the old addresses out of the target group and puts the new ones in, in its own time and in that of AWS. So, where
// the operator wants AWS to be asked, two things wait until the pods that a Service selects are registered: the first requests that a route sends to
// the Service, and whatever takes the pods of another version away or counts on that those are not needed. The Service itself is pointed at its
// version, and pods are created, all the same. A TargetGroupBinding says which target group a Service has.

// targetGroupBindings are the kinds by which the AWS Load Balancer Controller, and the one in EKS Auto Mode, bind a Service to a target group.
var targetGroupBindings = []schema.GroupVersionKind{
	{Group: "elbv2.k8s.aws", Version: "v1beta1", Kind: "TargetGroupBinding"},
	{Group: "eks.amazonaws.com", Version: "v1", Kind: "TargetGroupBinding"},
}

const (
	// mostBindings is of how many TargetGroupBindings in a namespace those of a Service are found, and mostGroups how many target groups AWS is asked
	// about for a Rollout.
	mostBindings, mostGroups = 500, 16
	// longestARN is the longest that AWS makes.
	longestARN = 2048
)

// binding is a target group of a Service whose targets are addresses of pods.
type binding struct {
	arn    string
	family discoveryv1.AddressType
	// port is that of the Service, by its name or number.
	port string
}

// registered returns a [notInForce] where pods that Services select are not known to be registered in the target groups of these.
func (r *RolloutReconciler) registered(ctx context.Context, seen plan.Observed, services []sending) error {
	if r.balancers == nil || len(services) == 0 {
		return nil
	}
	groups, awaited, err := r.groups(ctx, seen, services)
	if err != nil {
		return r.tellNoRights(ctx, seen.Rollout, err)
	}
	key, again := client.ObjectKeyFromObject(seen.Rollout), balancerLooks
	if awaited == "" && len(groups) > 0 {
		awaited, again = r.balancers.registered(key, groups)
	}
	if awaited == "" {
		return nil
	}
	_, since := r.memory.unfinishedSince(key, seen.Now)
	if since >= shownAfter {
		r.warnUnverified(seen.Rollout, targetsKey, "Targets", awaited)
	}
	return r.tellWait(ctx, seen, notInForce{standing: traffic.Standing{Awaited: awaited}, again: again, quiet: since < shownAfter})
}

// groups are the target groups of Services, with the pods that should be registered in them, or what has to come first.
func (r *RolloutReconciler) groups(ctx context.Context, seen plan.Observed, services []sending) (groups []elb.Group, awaited string, err error) {
	namespace := seen.Rollout.Namespace
	bindings, awaited, err := r.bindings(ctx, namespace)
	if err != nil || awaited != "" {
		return nil, awaited, err
	}
	for _, s := range services {
		bound := bindings[s.service]
		if len(bound) == 0 {
			continue
		}
		endpoints, err := r.endpointsOf(ctx, namespace, s.service)
		if err != nil {
			return nil, "", err
		}
		if n := listedPods(endpoints, s.set); n < int(s.set.Status.AvailableReplicas) {
			return nil, fmt.Sprintf("EndpointSlices of Service %q to list the pods of ReplicaSet %q: %d of %d are listed", s.service, s.set.Name, n, s.set.Status.AvailableReplicas), nil
		}
		for _, b := range bound {
			if addresses := b.addresses(endpoints, s.set, serviceIn(seen, s.service)); len(addresses) > 0 {
				groups = append(groups, elb.Group{ARN: b.arn, Service: s.service, Addresses: addresses})
			}
		}
	}
	if len(groups) > mostGroups {
		return nil, fmt.Sprintf("the Services of the Rollout to have at most %d TargetGroupBindings: they have %d", mostGroups, len(groups)), nil
	}
	return groups, "", nil
}

// leaned are the Services that a plan counts on, with the ReplicaSets that they select: others lose pods, the stable version changes, or an analysis
// judges the version after the switch. A Service without traffic does not count.
func leaned(seen plan.Observed, p plan.Plan) []sending {
	was := seen.Rollout.Status
	is := was
	if p.Record != nil {
		is = p.Record.To.Status
	}
	promotes := was.StableRS != "" && is.StableRS != was.StableRS
	var all []sending
	for _, name := range arrivals(seen.Rollout) {
		set := selectedSet(seen, p, name)
		if set == nil || is.Canary.Weights != nil && weightOf(is.Canary.Weights, name) == 0 {
			continue // nobody can answer, or nobody asks
		}
		hash := set.Labels[v1alpha1.PodTemplateHashLabel]
		switched := seen.Rollout.Spec.Strategy.BlueGreen != nil && was.StableRS != "" && hash != was.StableRS
		if promotes || takesPods(p.Shrink, hash) || switched && slices.ContainsFunc(p.Judge, beginsAnalysis) {
			all = append(all, sending{name, set})
		}
	}
	return all
}

// beginsAnalysis reports whether a change creates an AnalysisRun.
func beginsAnalysis(made change.Change) bool {
	_, ok := made.(change.CreateAnalysisRun)
	return ok
}

// returning reports whether what a Service is about to get comes back from the canary to the stable version. That does not wait for AWS, whose errors
// would keep people with a version that may be broken.
func returning(was v1alpha1.RolloutStatus, s sending) bool {
	hash := s.set.Labels[v1alpha1.PodTemplateHashLabel]
	return hash == was.StableRS && was.Canary.Weights != nil && was.Canary.Weights.Canary.PodTemplateHash != hash
}

// takesPods reports whether changes remove pods that do not belong to a version.
func takesPods(changes []change.Change, version string) bool {
	return slices.ContainsFunc(changes, func(made change.Change) bool {
		switch c := made.(type) {
		case change.UpdateReplicaSet:
			return c.To.Labels[v1alpha1.PodTemplateHashLabel] != version && ptr.Deref(c.To.Spec.Replicas, 1) < ptr.Deref(c.From.Spec.Replicas, 1)
		case change.DeleteReplicaSet:
			return c.ReplicaSet.Labels[v1alpha1.PodTemplateHashLabel] != version && ptr.Deref(c.ReplicaSet.Spec.Replicas, 1) > 0
		case change.ScaleWorkload:
			return ptr.Deref(c.To.Spec.Replicas, 1) < ptr.Deref(c.From.Spec.Replicas, 1)
		case change.EvictPod: // another one takes its place
		case change.CreateReplicaSet, change.CreateService, change.UpdateService, change.DeleteService, change.UpdatePod, change.WriteRoute,
			change.CreateAnalysisRun, change.TerminateAnalysisRun, change.DeleteAnalysisRun, change.CreateExperiment, change.TerminateExperiment, change.DeleteExperiment:
		}
		return false
	})
}

// arrivals are the Services at which users of a Rollout arrive: a preview has none.
func arrivals(ro *v1alpha1.Rollout) []string {
	var names []string
	for _, ref := range spec.Services(ro) {
		if b := ro.Spec.Strategy.BlueGreen; b == nil || ref.Name != b.PreviewService {
			names = append(names, ref.Name)
		}
	}
	return names
}

// bindings are the target groups in a namespace whose targets are addresses of pods, by the names of their Services. Of the kinds that the cluster
// does not have there are none.
func (r *RolloutReconciler) bindings(ctx context.Context, namespace string) (all map[string][]binding, awaited string, err error) {
	all = map[string][]binding{}
	for _, gvk := range targetGroupBindings {
		if _, err := r.routes.mapper.RESTMapping(gvk.GroupKind(), gvk.Version); meta.IsNoMatchError(err) {
			continue
		} else if err != nil {
			return nil, "", fmt.Errorf("look for the kind %s: %w", gvk.GroupKind(), err)
		}
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(listOf(gvk))
		err := r.live.List(ctx, list, client.InNamespace(namespace), client.Limit(mostBindings))
		switch {
		case apierrors.IsForbidden(err):
			return nil, "", noRights{fmt.Errorf("cannot list TargetGroupBindings: %w: grant the controller list on targetgroupbindings.%s, with the Helm value rbac.routers.alb=true or the kustomize component config/routers/alb, or remove --aws-verify-target-group", err, gvk.Group)}
		case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
			continue // its CRD has been deleted
		case err != nil:
			return nil, "", fmt.Errorf("list the TargetGroupBindings of namespace %s: %w", namespace, err)
		case list.GetContinue() != "":
			return nil, fmt.Sprintf("namespace %q to have at most %d TargetGroupBindings", namespace, mostBindings), nil
		}
		for i := range list.Items {
			if service, b, ok := bindingOf(list.Items[i].Object); ok {
				all[service] = append(all[service], b)
			}
		}
	}
	return all, "", nil
}

// bindingOf reads a TargetGroupBinding. It reports false for one whose targets are nodes, and for one that says too little.
func bindingOf(object map[string]any) (service string, b binding, ok bool) {
	text := func(fields ...string) string {
		value, _, _ := unstructured.NestedFieldNoCopy(object, append([]string{"spec"}, fields...)...)
		switch v := value.(type) {
		case string:
			return v
		case int64:
			return strconv.FormatInt(v, 10)
		}
		return ""
	}
	b = binding{arn: text("targetGroupARN"), port: text("serviceRef", "port"), family: discoveryv1.AddressTypeIPv4}
	if text("ipAddressType") == "ipv6" {
		b.family = discoveryv1.AddressTypeIPv6
	}
	service = text("serviceRef", "name")
	return service, b, text("targetType") == "ip" && b.arn != "" && len(b.arn) <= longestARN && b.port != "" && service != ""
}

// endpointsOf are the EndpointSlices of a Service.
func (r *RolloutReconciler) endpointsOf(ctx context.Context, namespace, service string) ([]discoveryv1.EndpointSlice, error) {
	var endpoints discoveryv1.EndpointSliceList
	if err := r.live.List(ctx, &endpoints, client.InNamespace(namespace), client.MatchingLabels{discoveryv1.LabelServiceName: service}); err != nil {
		return nil, fmt.Errorf("list the EndpointSlices of service %s: %w", service, err)
	}
	return endpoints.Items, nil
}

// listedPods is how many ready pods of a ReplicaSet are in EndpointSlices.
func listedPods(endpoints []discoveryv1.EndpointSlice, set *appsv1.ReplicaSet) int {
	pods := map[string]bool{}
	for _, slice := range endpoints {
		for _, e := range slice.Endpoints {
			if isReadyPodOf(e, set) {
				pods[e.TargetRef.Name] = true
			}
		}
	}
	return len(pods)
}

// addresses are those of the ready pods of a ReplicaSet, with the port to which the target group sends. There are none if the Service does not have
// the port of the binding: nothing is sent there.
func (b binding) addresses(endpoints []discoveryv1.EndpointSlice, set *appsv1.ReplicaSet, service *corev1.Service) []string {
	i := slices.IndexFunc(service.Spec.Ports, func(p corev1.ServicePort) bool {
		return p.Name == b.port || strconv.Itoa(int(p.Port)) == b.port
	})
	if i < 0 {
		return nil
	}
	var all []string
	for _, slice := range endpoints {
		for _, port := range slice.Ports {
			if slice.AddressType != b.family || ptr.Deref(port.Name, "") != service.Spec.Ports[i].Name || port.Port == nil {
				continue
			}
			for _, e := range slice.Endpoints {
				if isReadyPodOf(e, set) && len(e.Addresses) > 0 {
					all = append(all, net.JoinHostPort(e.Addresses[0], strconv.Itoa(int(*port.Port))))
				}
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// serviceIn is a Service that a pass has seen, empty if it has not.
func serviceIn(seen plan.Observed, name string) *corev1.Service {
	for _, service := range slices.Concat(seen.Services, seen.ExperimentServices) {
		if service.Name == name {
			return service
		}
	}
	return &corev1.Service{}
}
