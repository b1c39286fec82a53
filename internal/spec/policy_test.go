package spec

import (
	"strings"
	"testing"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

func TestWhatAPolicyRefusesOfIngresses(t *testing.T) {
	const own = "nginx.ingress.kubernetes.io/"
	for name, c := range map[string]struct {
		nginx   v1alpha1.NginxTrafficRouting
		allow   []string
		refused []string // keys
	}{
		"canaries by header": {nginx: v1alpha1.NginxTrafficRouting{
			AdditionalIngressAnnotations: map[string]string{"canary-by-header": "X-Canary"}, CanaryIngressAnnotations: map[string]string{own + "limit-rps": "5"},
		}},
		"code": {
			nginx: v1alpha1.NginxTrafficRouting{
				AdditionalIngressAnnotations: map[string]string{"server-snippet": "evil;"}, CanaryIngressAnnotations: map[string]string{own + "configuration-snippet": "evil;"},
			},
			refused: []string{own + "configuration-snippet", own + "server-snippet"},
		},
		"authentication": {
			nginx:   v1alpha1.NginxTrafficRouting{AdditionalIngressAnnotations: map[string]string{"auth-url": "http://x", "auth-tls-secret": "a/b", "enable-global-auth": "false"}},
			refused: []string{own + "auth-tls-secret", own + "auth-url", own + "enable-global-auth"},
		},
		"another program's": {
			nginx:   v1alpha1.NginxTrafficRouting{CanaryIngressAnnotations: map[string]string{"external-dns.alpha.kubernetes.io/hostname": "bank.example", "plain": "1"}},
			refused: []string{"external-dns.alpha.kubernetes.io/hostname", "plain"},
		},
		"another program's by the prefix": {
			nginx: v1alpha1.NginxTrafficRouting{
				AnnotationPrefix: "external-dns.alpha.kubernetes.io", AdditionalIngressAnnotations: map[string]string{"hostname": "bank.example", "canary-by-header": "X"},
			},
			refused: []string{"external-dns.alpha.kubernetes.io/hostname"},
		},
		"a key that begins like the prefix": {
			nginx:   v1alpha1.NginxTrafficRouting{AdditionalIngressAnnotations: map[string]string{"nginx.ingress.kubernetes.io.evil/x": "1"}},
			refused: []string{"nginx.ingress.kubernetes.io.evil/x"},
		},
		"allowed": {
			nginx: v1alpha1.NginxTrafficRouting{CanaryIngressAnnotations: map[string]string{own + "server-snippet": "x", own + "auth-url": "x", "example.com/team": "a"}},
			allow: []string{own + "*-snippet", "example.com/*"}, refused: []string{own + "auth-url"},
		},
		"all allowed": {
			nginx: v1alpha1.NginxTrafficRouting{CanaryIngressAnnotations: map[string]string{own + "server-snippet": "x", own + "auth-url": "x", "example.com/team": "a"}},
			allow: []string{"*"},
		},
		"a pattern is no expression": {
			nginx: v1alpha1.NginxTrafficRouting{CanaryIngressAnnotations: map[string]string{"exampleXcom/team": "a"}},
			allow: []string{"example.com/*"}, refused: []string{"exampleXcom/team"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var found problems
			router := found.nginx(nginx, &c.nginx)
			got := Policy{AllowIngressAnnotations: c.allow}.Problems(Rollout{Strategy: Canary{Traffic: &Traffic{Routers: []Router{router}}}})
			if len(got) != len(c.refused) {
				t.Fatalf("%v, want a problem each for %v", got, c.refused)
			}
			for i, key := range c.refused {
				if got[i].Field != nginx || !strings.Contains(got[i].Text, `"`+key+`"`) || !strings.Contains(got[i].Text, IngressAnnotationsFlag+"="+key) {
					t.Errorf("%v, want a problem that names %s and the flag", got[i], key)
				}
			}
		})
	}
}
