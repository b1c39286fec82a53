package plane

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// service adds a Service with endpoints at these addresses: "10.244.0.1" is ready, "10.244.0.1 ending" terminates and still serves.
func (v *view) service(name string, endpoints ...string) {
	port := corev1.ServicePort{Name: "http", Port: 80, TargetPort: intstr.FromString("http")}
	v.services[name] = &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{port}}}
	slice := &discoveryv1.EndpointSlice{Ports: []discoveryv1.EndpointPort{{Name: new("http"), Port: new(int32(8080))}}}
	for _, e := range endpoints {
		ip, ending := strings.CutSuffix(e, " ending")
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{Addresses: []string{ip}, Conditions: discoveryv1.EndpointConditions{Ready: new(!ending), Serving: new(true)}})
	}
	v.slices[name] = []*discoveryv1.EndpointSlice{slice}
}

func (v *view) ingress(name, service string, annotations ...string) {
	i := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{}}}
	for n := 0; n < len(annotations); n += 2 {
		i.Annotations[canaryPrefix+annotations[n]] = annotations[n+1]
	}
	backend := networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: service, Port: networkingv1.ServiceBackendPort{Number: 80}}}
	i.Spec.Rules = []networkingv1.IngressRule{{Host: "web.example.org", IngressRuleValue: networkingv1.IngressRuleValue{
		HTTP: &networkingv1.HTTPIngressRuleValue{Paths: []networkingv1.HTTPIngressPath{{Path: "/", Backend: backend}}},
	}}}
	v.ingresses = append(v.ingresses, i)
}

func (v *view) route(rules ...any) {
	v.routes = append(v.routes, &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "web"},
		"spec":     map[string]any{"hostnames": []any{"web.example.org"}, "rules": rules},
	}})
}

func backendRefs(stable, canary int64) []any {
	return []any{
		map[string]any{"name": "web-stable", "port": int64(80), "weight": stable},
		map[string]any{"name": "web-canary", "port": int64(80), "weight": canary},
	}
}

func TestRender(t *testing.T) {
	const stable, canary = "10.244.0.1", "10.244.0.2"
	for name, tc := range map[string]struct {
		see       func(*view)
		want, not []string
		problem   string
	}{
		"an Ingress": {
			see:  func(v *view) { v.service("web-stable", stable); v.ingress("web", "web-stable") },
			want: []string{"upstream web-stable-80 {\n    server 127.244.0.1:8080 max_fails=0;", "    * web-stable-80;"},
		},
		"a canary Ingress with a weight and a header": {
			see: func(v *view) {
				v.service("web-stable", stable)
				v.service("web-canary", canary)
				v.ingress("web", "web-stable")
				v.ingress("canary", "web-canary", "canary", "true", "canary-weight", "20", "canary-by-header", "X-Beta", "canary-by-header-value", "yes")
			},
			want: []string{"    20.00% web-canary-80;\n    * web-stable-80;", `set $asked "$http_x_beta";
      if ($asked = "yes") { set $to $rule_web_example_org_1; set $copy_to ""; }`},
		},
		"a weight of another total": {
			see: func(v *view) {
				v.service("web-stable", stable)
				v.service("web-canary", canary)
				v.ingress("web", "web-stable")
				v.ingress("canary", "web-canary", "canary", "true", "canary-weight", "5", "canary-weight-total", "1000")
			},
			want: []string{"    0.50% web-canary-80;"},
		},
		"a canary Ingress without endpoints gets nothing": {
			see: func(v *view) {
				v.service("web-stable", stable)
				v.service("web-canary")
				v.ingress("web", "web-stable")
				v.ingress("canary", "web-canary", "canary", "true", "canary-weight", "20")
			},
			want: []string{"    * web-stable-80;"}, not: []string{"web-canary-80"},
		},
		"weights of an HTTPRoute": {
			see: func(v *view) {
				v.service("web-stable", stable)
				v.service("web-canary", canary)
				v.route(map[string]any{"backendRefs": backendRefs(80, 20)})
			},
			want: []string{"    80.00% web-stable-80;\n    * web-canary-80;"},
		},
		"a backend of an HTTPRoute without endpoints fails its share": {
			see: func(v *view) {
				v.service("web-stable", stable)
				v.service("web-canary")
				v.route(map[string]any{"backendRefs": backendRefs(80, 20)})
			},
			want: []string{"    80.00% web-stable-80;\n    * \"\";"},
		},
		"a weight of 0 gets nothing": {
			see: func(v *view) {
				v.service("web-stable", stable)
				v.service("web-canary", canary)
				v.route(map[string]any{"backendRefs": backendRefs(0, 100)})
			},
			want: []string{"{\n    * web-canary-80;"},
		},
		"an HTTPRoute's rule with a header comes first": {
			see: func(v *view) {
				v.service("web-stable", stable)
				v.service("web-canary", canary)
				header := map[string]any{"name": "X-Beta", "value": "yes", "type": "Exact"}
				v.route(
					map[string]any{"matches": []any{map[string]any{"headers": []any{header}}}, "backendRefs": backendRefs(0, 100)[1:]},
					map[string]any{"backendRefs": backendRefs(100, 0)[:1]},
				)
			},
			want: []string{`set $to $rule_web_example_org_0;` + "\n      set $copy_to \"\";\n" + `      set $asked "$http_x_beta";` + "\n" + `      if ($asked = "yes") { set $to $rule_web_example_org_1; set $copy_to ""; }`},
		},
		"a mirror gets copies of what its rule matches": {
			see: func(v *view) {
				v.service("web-stable", stable)
				v.service("web-canary", canary)
				header := map[string]any{"name": "X-Beta", "value": "yes", "type": "Exact"}
				filter := map[string]any{"type": "RequestMirror", "requestMirror": map[string]any{"backendRef": map[string]any{"name": "web-canary", "port": int64(80)}}}
				v.route(
					map[string]any{
						"matches": []any{map[string]any{"headers": []any{header}}}, "backendRefs": backendRefs(100, 0), "filters": []any{filter},
					},
					map[string]any{"backendRefs": backendRefs(100, 0)},
				)
			},
			want: []string{
				"upstream web-canary-80", `      set $copy_to "";` + "\n      set $asked",
				`{ set $to $rule_web_example_org_1; set $copy_to web-canary-80; }`, "      mirror /copy;", "    location = /copy {\n      internal;",
			},
		},
		"a match that NGINX is not configured for is reported": {
			see: func(v *view) {
				v.route(map[string]any{"matches": []any{map[string]any{"method": "GET"}}, "backendRefs": backendRefs(100, 0)})
			},
			problem: "HTTPRoute web: rule 0 has a match other than an exact header",
		},
		"pods that end serve where no other does": {
			see:  func(v *view) { v.service("web-stable", stable+" ending"); v.ingress("web", "web-stable") },
			want: []string{"server 127.244.0.1:8080"},
		},
		"pods that end get nothing where others are ready": {
			see:  func(v *view) { v.service("web-stable", stable+" ending", canary); v.ingress("web", "web-stable") },
			want: []string{"server 127.244.0.2:8080"}, not: []string{"127.244.0.1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			v := view{services: map[string]*corev1.Service{}, slices: map[string][]*discoveryv1.EndpointSlice{}}
			tc.see(&v)
			folder := t.TempDir()
			got, problems := render(v, "127.0.0.1:8080", folder)
			checkReadable(t, folder, got)
			for _, want := range tc.want {
				if !strings.Contains(got, want) {
					t.Errorf("there is no %q in\n%s", want, got)
				}
			}
			for _, not := range tc.not {
				if strings.Contains(got, not) {
					t.Errorf("there is a %q in\n%s", not, got)
				}
			}
			if strings.Join(problems, "; ") != tc.problem {
				t.Errorf("the problems are %q, want %q", problems, tc.problem)
			}
		})
	}
}

// checkReadable asks a real NGINX whether it can read a configuration.
func checkReadable(t *testing.T, folder, config string) {
	t.Helper()
	program := findNGINX(t)
	if program == "" {
		return
	}
	n := &nginx{folder: folder, program: program}
	if err := os.WriteFile(filepath.Join(folder, configFile), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := n.readable(); err != nil {
		t.Errorf("%v\n%s", err, config)
	}
}

// findNGINX is empty where there is none, which CI does not accept.
func findNGINX(t *testing.T) string {
	t.Helper()
	if path, err := exec.LookPath("nginx"); err == nil {
		return path
	}
	const debian = "/usr/sbin/nginx" // in no user's PATH
	if _, err := os.Stat(debian); err == nil {
		return debian
	}
	if os.Getenv("SLUICE_NO_SKIP") != "" {
		t.Fatal("no NGINX: apt-get install nginx-light")
	}
	t.Log("there is no NGINX to ask: apt-get install nginx-light")
	return ""
}
