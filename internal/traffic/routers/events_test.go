package routers_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/sim"
	"github.com/sluice-delivery/sluice/internal/traffic"
	"github.com/sluice-delivery/sluice/internal/traffic/nginx"
	"github.com/sluice-delivery/sluice/internal/traffic/routers"
)

// Each reason that is said to be one of a router's is in the transcripts of one, which the tests of the routers hold to what they report. There is no
// router for App Mesh.
func TestEachReasonIsReported(t *testing.T) {
	files, err := filepath.Glob("../*/testdata/events.txt")
	if err != nil || len(files) < 7 {
		t.Fatalf("the transcripts are %v (%v)", files, err)
	}
	var transcripts strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		transcripts.Write(text)
	}
	reasons := reasonsOfRouters(t)
	if len(reasons) < 20 {
		t.Fatalf("only %d reasons were found: %v", len(reasons), reasons)
	}
	unsupported := []string{v1alpha1.EventVirtualRouterNotFound, v1alpha1.EventVirtualNodeNotFound}
	for _, reason := range reasons {
		reported := strings.Contains(transcripts.String(), "\nNormal "+reason+": ") || strings.Contains(transcripts.String(), "\nWarning "+reason+": ")
		if reported == slices.Contains(unsupported, reason) {
			t.Errorf("%s: some router reports it: %t", reason, reported)
		}
	}
}

// reasonsOfRouters are the constants of the declaration in the API that is about events of routers.
func reasonsOfRouters(t *testing.T) (all []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../../../api/v1alpha1/events.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range file.Decls {
		decl, ok := d.(*ast.GenDecl)
		if !ok || !strings.Contains(decl.Doc.Text(), "one kind of traffic router") {
			continue
		}
		for _, s := range decl.Specs {
			reason, err := strconv.Unquote(s.(*ast.ValueSpec).Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, reason)
		}
	}
	return all
}

// Ingresses are written by two routers. The one for which the Rollout names an Ingress reports what was written to it.
func TestEventsAreThoseOfTheNamingRouter(t *testing.T) {
	ro := &v1alpha1.Rollout{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "uid"},
		Spec: v1alpha1.RolloutSpec{Strategy: v1alpha1.RolloutStrategy{Canary: &v1alpha1.CanaryStrategy{
			CanaryService: "web-canary", StableService: "web-stable",
			TrafficRouting: &v1alpha1.RolloutTrafficRouting{
				Nginx: &v1alpha1.NginxTrafficRouting{StableIngress: "edge"}, ALB: &v1alpha1.ALBTrafficRouting{Ingress: "web", ServicePort: 80},
			},
		}}},
	}
	ingress := func(name string, annotations map[string]string) *unstructured.Unstructured {
		o := sim.Ingress(name, "web-stable")
		o.SetNamespace("shop")
		o.SetAnnotations(annotations)
		return o
	}
	forward := func(weights string) map[string]string {
		return map[string]string{
			"alb.ingress.kubernetes.io/actions.web-stable": `{"Type":"forward","ForwardConfig":{"TargetGroups":[` + weights + `]}}`,
			v1alpha1.ManagedALBAnnotationsAnnotation:       `{"web":["alb.ingress.kubernetes.io/actions.web-stable"]}`,
		}
	}
	canary := nginx.CanaryName("web", "edge")
	for name, c := range map[string]struct {
		from, to *unstructured.Unstructured
		want     []traffic.Event
	}{
		"NGINX's": {
			ingress(canary, nil), ingress(canary, map[string]string{"nginx.ingress.kubernetes.io/canary-weight": "20"}),
			[]traffic.Event{{Reason: "PatchingCanaryIngress", Message: "Updating Ingress `web-edge-canary` to desiredWeight '20'"}},
		},
		"the AWS load balancer's": {
			ingress("web", nil), ingress("web", forward(`{"ServiceName":"web-canary","Weight":30},{"ServiceName":"web-stable","Weight":70}`)),
			[]traffic.Event{{Reason: "PatchingALBIngress", Message: "Updating Ingress `web` to desiredWeight '30'"}},
		},
		"nobody's": {ingress("other", nil), ingress("other", forward(`{"ServiceName":"web-canary","Weight":30}`)), nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, routers.Events(ro, c.from, c.to)); diff != "" {
				t.Error(diff)
			}
			if got := routers.FailureEvents(ro, c.from, c.to, "no"); got != nil {
				t.Errorf("none of them reports failures, got %v", got)
			}
		})
	}
	ro.Spec.Strategy.Canary.TrafficRouting.SMI = &v1alpha1.SMITrafficRouting{}
	ro.Spec.Strategy.Canary.TrafficRouting.Ambassador = &v1alpha1.AmbassadorTrafficRouting{Mappings: []string{"gone"}}
	if troubles := routers.Troubles(ro, nil); len(troubles) != 1 || troubles[0].Reason != "AmbassadorMappingNotFound" {
		t.Errorf("of a Mapping that does not exist: %+v", troubles)
	}
	ro.Spec.Strategy.Canary.TrafficRouting.SMI, ro.Spec.Strategy.Canary.TrafficRouting.Ambassador = nil, nil
	mapping := sim.Mapping("web-canary", "web-canary", "")
	want := []traffic.Event{{Warning: true, Reason: "CanaryMappingCleanupError", Message: `Error deleting canary mapping "web-canary": no`}}
	if diff := cmp.Diff(want, routers.FailureEvents(ro, mapping, nil, "no")); diff != "" {
		t.Errorf("a canary Mapping that the Rollout no longer names:\n%s", diff)
	}
	if got := routers.Events(ro, mapping, nil); got != nil {
		t.Errorf("nothing is said of an object that the Rollout no longer names, got %v", got)
	}
}
