package spec

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// longestStickiness is how many seconds a client may stay with a version.
const longestStickiness = 7 * 24 * 60 * 60

func (p *problems) alb(field string, t *v1alpha1.RolloutTrafficRouting) ALB {
	a := t.ALB
	out := ALB{Field: field, Port: a.ServicePort, RootService: a.RootService, Prefix: v1alpha1.DefaultALBAnnotationPrefix}
	if a.AnnotationPrefix != "" {
		out.Prefix = a.AnnotationPrefix
	}
	if problems := validation.IsDNS1123Subdomain(out.Prefix); len(problems) > 0 {
		p.add(field+".annotationPrefix", "%q cannot be the prefix of annotations: %s", out.Prefix, problems[0])
	}
	if a.ServicePort < 1 || a.ServicePort > 65535 {
		p.add(field+".servicePort", "%d is not a port: write 1 to 65535", a.ServicePort)
	}
	if a.RootService != "" {
		p.actionName(field+".rootService", "action", a.RootService)
	}
	if s := a.StickinessConfig; s != nil && s.Enabled {
		out.StickySeconds = s.DurationSeconds
		if s.DurationSeconds < 1 || s.DurationSeconds > longestStickiness {
			p.add(field+".stickinessConfig.durationSeconds", "%d: TargetGroupStickinessConfig's duration must be between 1 and %d seconds (7 days)!", s.DurationSeconds, longestStickiness)
		}
	}
	out.Ingresses = p.ingresses(field, a)
	p.routesOfALB(field, t)
	return out
}

func (p *problems) ingresses(field string, a *v1alpha1.ALBTrafficRouting) []NamedObject {
	switch {
	case a.Ingress != "" && len(a.Ingresses) > 0:
		p.add(field, "Either Ingress or Ingresses must be configured. Both are configured. Move %q into the list", a.Ingress)
	case a.Ingress == "" && len(a.Ingresses) == 0:
		p.add(field, "Either Ingress or Ingresses must be configured. Neither are configured. Set one of them")
	case a.Ingress != "":
		one := NamedObject{Field: field + ".ingress", Name: a.Ingress}
		p.object(one.Field, "Ingress", one.Name)
		return []NamedObject{one}
	}
	return p.named(field+".ingresses", "Ingress", a.Ingresses)
}

// named are the objects of a kind in a list of names.
func (p *problems) named(field, kind string, names []string) []NamedObject {
	var all []NamedObject
	for i, name := range few(p, field, kind+" objects", names) {
		one := NamedObject{Field: fmt.Sprintf("%s[%d]", field, i), Name: name}
		p.object(one.Field, kind, name)
		if slices.Contains(names[:i], name) {
			p.add(one.Field, "%q is listed already: remove one of the two", name)
		}
		all = append(all, one)
	}
	return all
}

// routesOfALB checks the names of managed routes, which become names of actions.
func (p *problems) routesOfALB(field string, t *v1alpha1.RolloutTrafficRouting) {
	for i, route := range t.ManagedRoutes {
		at := fmt.Sprintf("%s.trafficRouting.managedRoutes[%d].name", canaryField, i)
		p.actionName(at, "conditions", route.Name)
		if route.Name == t.ALB.RootService && route.Name != "" {
			p.add(at, "%q is the rootService of %s too, and an action can have one meaning only: choose another name", route.Name, field)
		}
	}
}

// actionName checks a name that becomes the name of a Service in an Ingress, and part of the key of an annotation such as
// alb.ingress.kubernetes.io/actions.web.
func (p *problems) actionName(field, what, name string) {
	const longestKey = 63
	if problems := validation.IsDNS1035Label(name); len(problems) > 0 {
		p.add(field, "%q cannot be the name of an action of the load balancer: %s", name, problems[0])
	}
	if most := longestKey - len("conditions."); len(name) > most && what == "conditions" || len(name) > longestKey-len("actions.") {
		p.add(field, "%q is too long for the key of an annotation: shorten it to %d letters", name, most)
	}
}
