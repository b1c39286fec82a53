package plane

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// canaryPrefix is that of ingress-nginx' annotations.
const canaryPrefix = "nginx.ingress.kubernetes.io/"

// rule is where requests of a host go: those that match, or all.
type rule struct {
	host    string
	headers map[string]string // all must be equal
	shares  []share
	// mirror gets a copy of each request, and its answers are dropped; without a name there is none.
	mirror upstream
	// refuses: what a share gets that has no endpoint fails, as the Gateway API wants it. Otherwise the first share takes it over.
	refuses bool
}

// share of the requests of a rule that goes to an upstream, in weights.
type share struct {
	to     upstream
	weight int64
}

// render writes NGINX' configuration, and what of the view it cannot carry out.
func render(v view, address, folder string) (config string, problems []string) {
	rules, problems := v.rules()
	var b, upstreams, splits, servers strings.Builder
	groups := map[string]upstream{}
	for _, host := range slices.Sorted(maps.Keys(rules)) {
		fmt.Fprintf(&servers, "  server {\n    listen %s;\n    server_name %s;\n    location / {\n      set $to \"\";\n      set $copy_to \"\";\n", address, host)
		for i, r := range rules[host] {
			variable := fmt.Sprintf("$rule_%s_%d", strings.NewReplacer(".", "_", "-", "_").Replace(host), i)
			for _, s := range r.shares {
				groups[s.to.name] = s.to
			}
			if len(r.mirror.targets) > 0 {
				groups[r.mirror.name] = r.mirror
			}
			splits.WriteString(r.split(variable))
			servers.WriteString(r.choose(variable))
		}
		if slices.ContainsFunc(rules[host], func(r rule) bool { return len(r.mirror.targets) > 0 }) {
			servers.WriteString("      mirror /copy;\n      mirror_request_body off;\n" + proxied + "    }\n" + copied + "  }\n")
		} else {
			servers.WriteString(proxied + "    }\n  }\n")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		upstreams.WriteString(groups[name].String())
	}
	fmt.Fprintf(&b, head, folder, folder, folder, folder, folder, folder, address)
	b.WriteString(upstreams.String() + splits.String() + servers.String() + "}\n")
	return b.String(), problems
}

// head of the configuration: as ingress-nginx has it, where that matters to requests. Old workers finish their requests after a reload.
const head = `worker_processes 1;
pid %s/nginx.pid;
worker_shutdown_timeout 30s;
events { worker_connections 8192; }
http {
  access_log off;
  client_body_temp_path %s/body;
  proxy_temp_path %s/proxy;
  fastcgi_temp_path %s/fastcgi;
  uwsgi_temp_path %s/uwsgi;
  scgi_temp_path %s/scgi;
  keepalive_requests 10000;
  server { listen %s default_server; return 404; }
`

const proxied = `      if ($to = "") { return 503; }
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Host $host;
      proxy_connect_timeout 30s;
      proxy_next_upstream error timeout;
      proxy_pass http://$to;
`

// copied is where copies of requests go.
const copied = `    location = /copy {
      internal;
      if ($copy_to = "") { return 204; }
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Host $host;
      proxy_pass http://$copy_to$request_uri;
    }
`

func (u upstream) String() string {
	if len(u.targets) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "  upstream %s {\n", u.name)
	for _, t := range u.targets {
		fmt.Fprintf(&b, "    server %s max_fails=0;\n", t)
	}
	b.WriteString("    keepalive 64;\n  }\n")
	return b.String()
}

// split is the directive that draws one of the rule's upstreams for each request.
func (r rule) split(variable string) string {
	shares := slices.Clone(r.shares)
	if !r.refuses {
		shares = slices.DeleteFunc(shares, func(s share) bool { return len(s.to.targets) == 0 })
	}
	total := int64(0)
	for _, s := range shares {
		total += s.weight
	}
	var b strings.Builder
	fmt.Fprintf(&b, "  split_clients \"${request_id}%s\" %s {\n", strings.TrimPrefix(variable, "$"), variable)
	rest := `""`
	for i, s := range shares {
		name := `""`
		if len(s.to.targets) > 0 {
			name = s.to.name
		}
		switch percent := math.Floor(float64(s.weight)/float64(max(total, 1))*10000) / 100; {
		case i == len(shares)-1:
			rest = name
		case percent > 0:
			fmt.Fprintf(&b, "    %.2f%% %s;\n", percent, name)
		}
	}
	if total == 0 {
		rest = `""`
	}
	fmt.Fprintf(&b, "    * %s;\n  }\n", rest)
	return b.String()
}

// choose is the part of a location that takes the rule where a request fits. Later rules take precedence.
func (r rule) choose(variable string) string {
	copyTo := `""`
	if len(r.mirror.targets) > 0 {
		copyTo = r.mirror.name
	}
	if len(r.headers) == 0 {
		return fmt.Sprintf("      set $to %s;\n      set $copy_to %s;\n", variable, copyTo)
	}
	var asked, wanted []string
	for _, name := range slices.Sorted(maps.Keys(r.headers)) {
		asked = append(asked, "$http_"+strings.ReplaceAll(strings.ToLower(name), "-", "_"))
		wanted = append(wanted, r.headers[name])
	}
	return fmt.Sprintf("      set $asked \"%s\";\n      if ($asked = \"%s\") { set $to %s; set $copy_to %s; }\n", strings.Join(asked, "|"), strings.Join(wanted, "|"), variable, copyTo)
}

// rules of all hosts, those with more headers last, where they take precedence.
func (v view) rules() (all map[string][]rule, problems []string) {
	all = map[string][]rule{}
	for _, r := range append(v.ingressRules(), v.routeRules(&problems)...) {
		all[r.host] = append(all[r.host], r)
	}
	for _, rules := range all {
		slices.SortStableFunc(rules, func(a, b rule) int { return cmp.Compare(len(a.headers), len(b.headers)) })
	}
	return all, problems
}

// ingressRules are those of Ingresses, each with the canary Ingress for the same host, if there is one.
func (v view) ingressRules() (rules []rule) {
	for _, main := range v.ingresses {
		if main.Annotations[canaryPrefix+"canary"] == "true" {
			continue
		}
		for host, backend := range backends(main) {
			stable := share{v.upstream(backend.Name, portOfBackend(backend)), 100}
			r := rule{host: host, shares: []share{stable}}
			for _, canary := range v.ingresses {
				other, ok := backends(canary)[host]
				if !ok || canary.Annotations[canaryPrefix+"canary"] != "true" {
					continue
				}
				weight, total := number(canary, "canary-weight", 0), number(canary, "canary-weight-total", 100)
				r.shares = []share{{v.upstream(other.Name, portOfBackend(other)), weight}, {stable.to, total - weight}}
				if header := canary.Annotations[canaryPrefix+"canary-by-header"]; header != "" {
					value := cmp.Or(canary.Annotations[canaryPrefix+"canary-by-header-value"], "always")
					rules = append(rules, rule{host: host, headers: map[string]string{header: value}, shares: []share{{r.shares[0].to, 1}}})
				}
			}
			rules = append(rules, r)
		}
	}
	return rules
}

// backends are the Services of an Ingress by host. One path for each host is what this plane knows.
func backends(i *networkingv1.Ingress) map[string]networkingv1.IngressServiceBackend {
	all := map[string]networkingv1.IngressServiceBackend{}
	for _, r := range i.Spec.Rules {
		if r.HTTP == nil {
			continue
		}
		for _, path := range r.HTTP.Paths {
			if path.Backend.Service != nil {
				all[r.Host] = *path.Backend.Service
			}
		}
	}
	return all
}

func portOfBackend(b networkingv1.IngressServiceBackend) intstr.IntOrString {
	if b.Port.Name != "" {
		return intstr.FromString(b.Port.Name)
	}
	return intstr.FromInt32(b.Port.Number)
}

func number(i *networkingv1.Ingress, key string, otherwise int64) int64 {
	n, err := strconv.ParseInt(i.Annotations[canaryPrefix+key], 10, 64)
	if err != nil {
		return otherwise
	}
	return n
}

// routeRules are those of HTTPRoutes.
func (v view) routeRules(problems *[]string) (all []rule) {
	for _, route := range v.routes {
		hosts, _, _ := unstructured.NestedStringSlice(route.Object, "spec", "hostnames")
		rules, _, _ := unstructured.NestedSlice(route.Object, "spec", "rules")
		for i, one := range rules {
			fields, _ := one.(map[string]any)
			headers, ok := matches(fields)
			if !ok {
				*problems = append(*problems, fmt.Sprintf("HTTPRoute %s: rule %d has a match other than an exact header", route.GetName(), i))
				continue
			}
			for _, host := range hosts {
				for _, h := range headers {
					all = append(all, rule{host: host, headers: h, shares: v.shares(fields), mirror: v.mirror(fields), refuses: true})
				}
			}
		}
	}
	return all
}

// shares of the backendRefs of a rule.
func (v view) shares(fields map[string]any) (shares []share) {
	refs, _, _ := unstructured.NestedSlice(fields, "backendRefs")
	for _, ref := range refs {
		fields, _ := ref.(map[string]any)
		name, _, _ := unstructured.NestedString(fields, "name")
		port, _, _ := unstructured.NestedInt64(fields, "port")
		weight, set, _ := unstructured.NestedInt64(fields, "weight")
		if !set {
			weight = 1
		}
		shares = append(shares, share{v.upstream(name, intstr.FromInt32(int32(port))), weight})
	}
	return shares
}

// mirror is the backend of a rule's RequestMirror filter. Copies of all requests is what this plane knows.
func (v view) mirror(fields map[string]any) (to upstream) {
	filters, _, _ := unstructured.NestedSlice(fields, "filters")
	for _, f := range filters {
		filter, _ := f.(map[string]any)
		name, set, _ := unstructured.NestedString(filter, "requestMirror", "backendRef", "name")
		port, _, _ := unstructured.NestedInt64(filter, "requestMirror", "backendRef", "port")
		if set {
			to = v.upstream(name, intstr.FromInt32(int32(port)))
		}
	}
	return to
}

// matches are the headers of each match of a rule: one empty set where it has none, false where it asks for more than exact headers and a prefix of "/".
func matches(fields map[string]any) (all []map[string]string, ok bool) {
	list, _, _ := unstructured.NestedSlice(fields, "matches")
	if len(list) == 0 {
		return []map[string]string{{}}, true
	}
	for _, m := range list {
		match, _ := m.(map[string]any)
		if path, set, _ := unstructured.NestedString(match, "path", "value"); set && path != "/" || match["method"] != nil || match["queryParams"] != nil {
			return nil, false
		}
		headers, _, _ := unstructured.NestedSlice(match, "headers")
		one := map[string]string{}
		for _, h := range headers {
			header, _ := h.(map[string]any)
			kind, set, _ := unstructured.NestedString(header, "type")
			name, _, _ := unstructured.NestedString(header, "name")
			value, _, _ := unstructured.NestedString(header, "value")
			if set && kind != "Exact" {
				return nil, false
			}
			one[name] = value
		}
		all = append(all, one)
	}
	return all, true
}
