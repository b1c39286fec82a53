package gatewayapi_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/traffic/gatewayapi"
)

// Whether the Gateways have put a route into force, by what they say about it. The route is at generation 7.
func TestStanding(t *testing.T) {
	accepts := func(parent string) string { return said(parent, "True", 7, "True", 7) }
	for name, c := range map[string]struct {
		parents, status  string
		awaited, refused string
		silent           bool
		notes            string
	}{
		"a Gateway that has accepted it":              {parents: `{name: eg}`, status: accepts(`{name: eg}`)},
		"a newer generation":                          {parents: `{name: eg}`, status: said(`{name: eg}`, "True", 8, "True", 8)},
		"with the defaults written out":               {parents: `{name: eg}`, status: accepts(`{name: eg, group: gateway.networking.k8s.io, kind: Gateway, namespace: shop}`)},
		"a route that is attached to nothing":         {silent: true},
		"a Gateway that has said nothing":             {parents: `{name: eg}`, silent: true, awaited: `Gateway shop/eg to accept generation 7 of HTTPRoute "web"`},
		"a Gateway that has accepted what was before": {parents: `{name: eg}`, status: said(`{name: eg}`, "True", 6, "True", 6), awaited: `Gateway shop/eg to accept generation 7`},
		"one that does not say of what it speaks":     {parents: `{name: eg}`, status: said(`{name: eg}`, "True", 0, "True", 0), awaited: `Gateway shop/eg to accept`},
		"one that does not know yet":                  {parents: `{name: eg}`, status: said(`{name: eg}`, "Unknown", 7, "True", 7), awaited: `Gateway shop/eg to accept`},
		"accepted, and not looked up yet":             {parents: `{name: eg}`, status: said(`{name: eg}`, "True", 7, "True", 6), awaited: `Gateway shop/eg to accept`},
		"another Gateway's word":                      {parents: `{name: eg}`, status: accepts(`{name: eg, namespace: edge}`), awaited: `Gateway shop/eg to accept`},
		"another listener's word":                     {parents: `{name: eg, sectionName: a}`, status: accepts(`{name: eg, sectionName: b}`), awaited: `Gateway shop/eg to accept`},
		"another port's word":                         {parents: `{name: eg, port: 80}`, status: accepts(`{name: eg, port: 81}`), awaited: `Gateway shop/eg to accept`},
		"refused":                                     {parents: `{name: eg}`, status: said(`{name: eg}`, "False", 7, "True", 7), refused: `Gateway shop/eg does not accept HTTPRoute "web": Because: of something`},
		"refused before the last change":              {parents: `{name: eg}`, status: said(`{name: eg}`, "False", 6, "True", 6), awaited: `Gateway shop/eg to accept`},
		"a backend that is missing":                   {parents: `{name: eg}`, status: said(`{name: eg}`, "True", 7, "False", 7), refused: `Gateway shop/eg cannot resolve the references of HTTPRoute "web": Because: of something`},
		"two, and one is late":                        {parents: `{name: a}, {name: b}`, status: accepts(`{name: a}`), awaited: `Gateway shop/b to accept`},
		"two, and one does not take it":               {parents: `{name: a}, {name: b}`, status: accepts(`{name: a}`) + said(`{name: b}`, "False", 7, "True", 7)},
		"two, and one lacks a backend":                {parents: `{name: a}, {name: b}`, status: accepts(`{name: a}`) + said(`{name: b}`, "True", 7, "False", 7), refused: `Gateway shop/b cannot resolve`},
		"two controllers, and one is late":            {parents: `{name: a}`, status: accepts(`{name: a}`) + said(`{name: a}`, "True", 6, "True", 6), awaited: `Gateway shop/a to accept`},
		"a mesh":                                      {parents: `{name: web, kind: Service, group: ""}`, status: said(`{name: web, kind: Service, group: ""}`, "True", 6, "True", 6), awaited: `Service shop/web to accept`},
		"rules left out, and a header route":          {parents: `{name: eg}`, status: partly(`{name: eg}`, 7), notes: `{"shop/web":{"rules":["a"]}}`, refused: `Gateway shop/eg leaves out rules of HTTPRoute "web": UnsupportedValue: of something`},
		"rules left out, and sessions":                {parents: `{name: eg}`, status: partly(`{name: eg}`, 7), notes: `{"shop/web":{"sessions":["a"]}}`, refused: `Gateway shop/eg leaves out rules of HTTPRoute "web": UnsupportedValue: of something`},
		"rules left out before the last change":       {parents: `{name: eg}`, status: partly(`{name: eg}`, 6), notes: `{"shop/web":{"sessions":["a"]}}`},
		"rules left out, which are other people's":    {parents: `{name: eg}`, status: partly(`{name: eg}`, 7), notes: `{"shop/web":{"label":"a"}}`},
		"what is not a status":                        {parents: `{name: eg}`, status: `- 7`, awaited: `Gateway shop/eg to accept`},
	} {
		t.Run(name, func(t *testing.T) {
			o := &unstructured.Unstructured{}
			manifest := "kind: HTTPRoute\nmetadata: {name: web, namespace: shop}\nspec: {parentRefs: [" + c.parents + "]}\nstatus:\n  parents:\n" + indent(c.status)
			if err := yaml.Unmarshal([]byte(manifest), &o.Object); err != nil {
				t.Fatal(err)
			}
			o.SetGeneration(7)
			o.SetAnnotations(map[string]string{v1alpha1.GatewayAPINotesAnnotation: c.notes})
			got := gatewayapi.Standing(o)
			if !strings.HasPrefix(got.Awaited, c.awaited) || (got.Awaited == "") != (c.awaited == "") ||
				!strings.HasPrefix(got.Refused, c.refused) || (got.Refused == "") != (c.refused == "") || got.Silent != c.silent {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// What is said at length is repeated in part.
func TestStandingIsShort(t *testing.T) {
	o := &unstructured.Unstructured{}
	status := strings.ReplaceAll(said(`{name: eg}`, "False", 7, "True", 7), "of something", strings.Repeat("ä", 10_000))
	if err := yaml.Unmarshal([]byte("kind: HTTPRoute\nspec: {parentRefs: [{name: eg}]}\nstatus:\n  parents:\n"+indent(status)), &o.Object); err != nil {
		t.Fatal(err)
	}
	if refused := gatewayapi.Standing(o).Refused; len(refused) > 500 || !strings.HasSuffix(refused, "ä…") {
		t.Errorf("%d bytes: %s", len(refused), refused)
	}
}

// said is an entry of status.parents.
func said(parent, accepted string, at int, resolved string, resolvedAt int) string {
	c := func(kind, status string, at int) string {
		observed := ""
		if at > 0 {
			observed = ", observedGeneration: " + string(rune('0'+at))
		}
		return "{type: " + kind + ", status: \"" + status + "\", reason: Because, message: of something" + observed + "}"
	}
	return "- {parentRef: " + parent + ", conditions: [{type: Other, status: \"False\"}, " + c("Accepted", accepted, at) + ", " + c("ResolvedRefs", resolved, resolvedAt) + "]}\n"
}

// partly is an entry of a parent that has accepted a route without some of its rules.
func partly(parent string, at int) string {
	return strings.Replace(said(parent, "True", 7, "True", 7), "conditions: [", fmt.Sprintf(
		`conditions: [{type: PartiallyInvalid, status: "True", reason: UnsupportedValue, message: of something, observedGeneration: %d}, `, at), 1)
}

func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n  ") + "\n"
}
