package spec

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

func (p *problems) nginx(field string, n *v1alpha1.NginxTrafficRouting) Nginx {
	out := Nginx{Field: field, Prefix: v1alpha1.DefaultNginxAnnotationPrefix}
	if n.AnnotationPrefix != "" {
		out.Prefix = n.AnnotationPrefix
	}
	if problems := validation.IsDNS1123Subdomain(out.Prefix); len(problems) > 0 {
		p.add(field+".annotationPrefix", "%q cannot be the prefix of annotations: %s", out.Prefix, problems[0])
	}
	out.StableIngresses = p.stableIngresses(field, n)
	out.Annotations = p.canaryAnnotations(field, n, out.Prefix)
	return out
}

func (p *problems) stableIngresses(field string, n *v1alpha1.NginxTrafficRouting) []NginxIngress {
	if p.oneOrMany(field, "stableIngress", "stableIngresses", n.StableIngress, len(n.StableIngresses)) {
		one := NginxIngress{Field: field + ".stableIngress", Name: n.StableIngress}
		p.object(one.Field, "Ingress", one.Name)
		return []NginxIngress{one}
	}
	if len(n.StableIngresses) == 0 {
		p.add(field+".stableIngress", "is empty: name the Ingress that routes to stableService")
	}
	var all []NginxIngress
	for i, name := range few(p, field+".stableIngresses", "Ingresses", n.StableIngresses) {
		in := NginxIngress{Field: fmt.Sprintf("%s.stableIngresses[%d]", field, i), Name: name}
		p.object(in.Field, "Ingress", name)
		if slices.Contains(n.StableIngresses[:i], name) {
			p.add(in.Field, "%q is listed already: remove one of the two", name)
		}
		all = append(all, in)
	}
	return all
}

// canaryAnnotations are the annotations that the spec adds, by their complete keys. Those that carry the weight cannot be among them.
func (p *problems) canaryAnnotations(field string, n *v1alpha1.NginxTrafficRouting, prefix string) map[string]string {
	out := map[string]string{}
	add := func(field, key, value string) {
		switch {
		case key == prefix+"/canary" && value == "true": // it is, no matter what the spec says
			return
		case key == prefix+"/canary", key == prefix+"/canary-weight":
			p.add(field, "%q is what the controller sets itself: remove it", key)
		case key == prefix+"/canary-weight-total":
			p.add(field, "%q is what the controller sets itself: remove it, and set trafficRouting.maxTrafficWeight", key)
		}
		if problems := validation.IsQualifiedName(strings.ToLower(key)); len(problems) > 0 {
			p.add(field, "%q cannot be the key of an annotation: %s", key, problems[0])
		}
		out[key] = value
	}
	for _, key := range slices.Sorted(maps.Keys(n.AdditionalIngressAnnotations)) {
		complete := key
		if !strings.HasPrefix(key, prefix) {
			complete = prefix + "/" + key
		}
		add(field+".additionalIngressAnnotations", complete, n.AdditionalIngressAnnotations[key])
	}
	for _, key := range slices.Sorted(maps.Keys(n.CanaryIngressAnnotations)) {
		add(field+".canaryIngressAnnotations", key, n.CanaryIngressAnnotations[key])
	}
	return out
}
