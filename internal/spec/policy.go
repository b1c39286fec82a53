package spec

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// Policy is what the operator of the controller lets Rollouts do beyond what is safe where tenants share a cluster. The zero value allows
// none of it.
type Policy struct {
	// AllowIngressAnnotations are keys of annotations, with * for any characters, that Rollouts may have the controller write on canary
	// Ingresses although they could give their authors rights that these do not have.
	AllowIngressAnnotations []string
	// RouteNamespaces are the namespaces whose routes Rollouts of all namespaces may use; [AnyNamespace] stands for all.
	RouteNamespaces []string
	// Consents are what the owners of routes in other namespaces allow, as far as it concerns the Rollout that is looked at.
	Consents []RouteConsent
	// Unserved are the kinds of the Rollout's routers that the cluster does not have.
	Unserved []schema.GroupKind
	// GatewayAPIBinary has the binary of the Gateway API plugin split the Rollout's traffic, if the spec names it, in place of the built-in router.
	GatewayAPIBinary bool
	// Selected are the objects of the Rollout's namespace that its routers find by their labels, in the order of kinds and names.
	Selected []SelectedObject
}

// SelectedObject is an object that has the labels that a field of the spec asks for.
type SelectedObject struct {
	Field string
	Name  string
}

// MostSelected is how many objects one selector may find: each is read and rendered in every reconcile.
const MostSelected = mostRoutes

// RouteConsent lets the Rollouts of one namespace use routes of another one.
type RouteConsent struct {
	// From is the Rollouts' namespace; Kind and Namespace are the routes', and Name that of one of them, empty for all. Kinds of several groups have
	// the same name, and the owner allows one.
	From            string
	Kind            schema.GroupKind
	Namespace, Name string
}

// AnyNamespace stands for all namespaces in a list.
const AnyNamespace = "*"

// RouteNamespacesFlag is the controller's flag that sets [Policy.RouteNamespaces].
const RouteNamespacesFlag = "--gateway-route-namespaces"

// AllowAll is for those that cannot know what a controller allows: it refuses nothing.
func AllowAll() Policy {
	return Policy{AllowIngressAnnotations: []string{"*"}, RouteNamespaces: []string{AnyNamespace}}
}

// AllowsRoutesIn reports whether Rollouts of other namespaces may use the routes of this one.
func (p Policy) AllowsRoutesIn(namespace string) bool {
	return slices.Contains(p.RouteNamespaces, AnyNamespace) || slices.Contains(p.RouteNamespaces, namespace)
}

// AllowsRoute reports whether Rollouts of a namespace may use a route of another one.
func (p Policy) AllowsRoute(from string, kind schema.GroupKind, namespace, name string) bool {
	return p.AllowsRoutesIn(namespace) || slices.ContainsFunc(p.Consents, func(c RouteConsent) bool {
		return c.From == from && c.Kind == kind && c.Namespace == namespace && (c.Name == "" || c.Name == name)
	})
}

// patterns are keys of annotations with * for any characters.
var patterns = regexp.MustCompile(`^[A-Za-z0-9._/*-]+$`)

// Check returns what is wrong with the policy itself.
func (p Policy) Check() error {
	for _, pattern := range p.AllowIngressAnnotations {
		if !patterns.MatchString(pattern) {
			return fmt.Errorf("%s %q: write keys of annotations, with * for any characters, such as example.com/*", IngressAnnotationsFlag, pattern)
		}
	}
	for _, namespace := range p.RouteNamespaces {
		if problems := validation.IsDNS1123Label(namespace); namespace != AnyNamespace && len(problems) > 0 {
			return fmt.Errorf("%s %q is not the name of a namespace, nor *: %s", RouteNamespacesFlag, namespace, problems[0])
		}
	}
	return nil
}

// IngressAnnotationsFlag is the controller's flag that sets [Policy.AllowIngressAnnotations].
const IngressAnnotationsFlag = "--allow-ingress-annotations"

// Problems are what the policy refuses of a Rollout.
func (p Policy) Problems(r Rollout) []Problem {
	canary, ok := r.Strategy.(Canary)
	if !ok || canary.Traffic == nil {
		return nil
	}
	var all problems
	for _, router := range canary.Traffic.Routers {
		if nginx, ok := router.(Nginx); ok {
			p.ingressAnnotations(&all, nginx)
		}
	}
	return all
}

// ingressAnnotations refuses annotations that are code or credentials to ingress-nginx, or that mean something to another program. The
// controller's rights on Ingresses would stand in for those of the Rollout's author, and admission that goes by user would see the controller.
func (p Policy) ingressAnnotations(all *problems, n Nginx) {
	for _, key := range slices.Sorted(maps.Keys(n.Annotations)) {
		if why := danger(key, n.Prefix); why != "" && !p.allows(key) {
			all.add(n.Field, "annotation %q %s: remove it from additionalIngressAnnotations or canaryIngressAnnotations, or have the operator set the controller's flag %s=%s",
				key, why, IngressAnnotationsFlag, key)
		}
	}
}

// danger is why an annotation is refused unless the operator allows it, empty if it is harmless. Any prefix may be named as that of
// ingress-nginx, so under another one than its own those keys are harmless that are about canaries.
func danger(key, prefix string) string {
	const ofAnother = "may mean something to another program than ingress-nginx"
	name, ours := strings.CutPrefix(key, prefix+"/")
	switch {
	case !ours:
		return ofAnother
	case strings.HasSuffix(name, "-snippet"):
		return "is configuration that ingress-nginx runs as it is"
	case strings.HasPrefix(name, "auth-"), name == "enable-global-auth":
		return "decides about authentication"
	case prefix != v1alpha1.DefaultNginxAnnotationPrefix && !strings.HasPrefix(name, "canary-"):
		return ofAnother
	}
	return ""
}

func (p Policy) allows(key string) bool {
	return slices.ContainsFunc(p.AllowIngressAnnotations, func(pattern string) bool {
		parts := strings.Split(pattern, "*")
		for i := range parts {
			parts[i] = regexp.QuoteMeta(parts[i])
		}
		fits, err := regexp.MatchString("^"+strings.Join(parts, ".*")+"$", key)
		return err == nil && fits
	})
}
