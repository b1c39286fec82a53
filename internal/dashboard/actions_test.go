package dashboard

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	k8stesting "k8s.io/client-go/testing"
)

func TestActions(t *testing.T) {
	for action, test := range map[string]struct {
		with url.Values
		want string
	}{
		"promote":      {nil, `rollouts/status {"status":{"pauseConditions":null}}`},
		"promote-full": {nil, `rollouts/status {"status":{"promoteFull":true}}`},
		"skip-step":    {nil, `rollouts/status {"status":{"currentStepIndex":2,"pauseConditions":null}}`},
		"pause":        {nil, `rollouts {"spec":{"paused":true}}`},
		"abort":        {nil, `rollouts/status {"status":{"abort":true}}`},
		"restart":      {nil, `rollouts {"spec":{"restartAt":`},
		"undo":         {url.Values{"revision": {"1"}}, `rollouts [{"op":"replace","path":"/spec/template"`},
		"image":        {url.Values{"image-nginx": {"nginx:3"}}, `update rollouts`},
	} {
		t.Run(action, func(t *testing.T) {
			d := newDesk(t, nil, paused).enter()
			form := d.form(action + "?" + test.with.Encode())
			for name, values := range test.with {
				form[name] = values
			}
			if writes := d.writes(); len(writes) > 0 {
				t.Fatalf("asking has written %q", writes)
			}
			w := d.send("POST", "/rollouts/rollout/shop/web/"+action, form.Encode(), nil)
			if w.Code != http.StatusSeeOther {
				t.Fatalf("%d %s", w.Code, w.Body)
			}
			if writes := d.writes(); len(writes) != 1 || !strings.HasPrefix(writes[0], test.want) {
				t.Errorf("written: %q, want %q", writes, test.want)
			}
			said := w.Result().Cookies()[0]
			page := d.send("GET", "/rollouts/rollout/shop/web", "", func(r *http.Request) { r.AddCookie(said) })
			contains(t, page.Body.String(), "Rollout &#39;web&#39; ")
		})
	}
}

// What the API server says is shown as it says it.
func TestAnErrorOfTheAPIServerIsShown(t *testing.T) {
	d := newDesk(t, nil, paused).enter()
	d.cluster.PrependReactor("patch", "rollouts", func(k8stesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New(`admission webhook "freeze" denied the request: no releases on Friday`)
	})
	w := d.send("POST", "/rollouts/rollout/shop/web/promote", d.form("promote").Encode(), nil)
	if w.Code != http.StatusBadGateway {
		t.Errorf("status %d", w.Code)
	}
	contains(t, w.Body.String(), "no releases on Friday")
}

// A person decided about what the page showed. Something else needs another decision.
func TestADecisionAboutSomethingElseIsAskedAgain(t *testing.T) {
	d := newDesk(t, nil, paused).enter()
	form := d.form("promote")
	form.Set("seen", strings.TrimSuffix(form.Get("seen"), "1")+"0")
	w := d.send("POST", "/rollouts/rollout/shop/web/promote", form.Encode(), nil)
	if w.Code != http.StatusConflict || len(d.writes()) > 0 {
		t.Errorf("status %d, written %q", w.Code, d.writes())
	}
	contains(t, w.Body.String(), "has changed since")
}

// What one did before changes the Rollout in ways that the next decision is not about. And the page that asks knows of it, however late the
// cache is.
func TestOnesOwnActionsAreNoSurprise(t *testing.T) {
	d := newDesk(t, nil, paused).enter()
	abort := d.form("abort")
	d.server.hub.changed(types.NamespacedName{})
	if w := d.send("POST", "/rollouts/rollout/shop/web/pause", d.form("pause").Encode(), nil); w.Code != http.StatusSeeOther {
		t.Fatalf("pause: %d %s", w.Code, w.Body)
	}
	if w := d.send("GET", "/rollouts/rollout/shop/web/resume", "", nil); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "/true") {
		t.Errorf("the page that asks is about what was before: %s", w.Body)
	}
	d.edit(func(u *unstructured.Unstructured) {
		_ = unstructured.SetNestedField(u.Object, int64(9), "metadata", "generation")
	})
	if w := d.send("POST", "/rollouts/rollout/shop/web/abort", abort.Encode(), nil); w.Code != http.StatusSeeOther {
		t.Errorf("an abort that was asked for before the pause: %d %s", w.Code, w.Body)
	}
}

// Each action says what the engine will do. TestC14PeopleActAsThemselves has more of it, on a real cluster.
func TestConfirmationsArePlayedAhead(t *testing.T) {
	d := newDesk(t, nil, paused).enter()
	for action, want := range map[string][]string{
		"abort":                      {"The engine would now:", "scale web-b from 1 to 0", "How the update would go on"},
		"pause":                      {"The engine would wait:", "nothing is scaled and no step ends: spec.paused is set"},
		"restart":                    {"The engine would now:", "and one more for the restart", "restart pod web-a-"},
		"undo":                       {"Rollout &#39;web&#39; returns to revision 1: nginx from nginx:2 to nginx:1", "scale web-a from 1 to 2"},
		"undo?revision=2":            {"nothing changes", `<option value="2" selected>`, `name="revision" value="2"`},
		"image?image-nginx=nginx:9":  {"nginx from nginx:2 to nginx:9", "The engine would now:", "create web-665b8dc475 with 1 pod", `type="hidden" name="image-nginx" value="nginx:9"`, "How the update would go on", "After someone promotes"},
		"image?image-other=nginx:10": {"has no container &#39;other&#39;", "cannot be played ahead"},
	} {
		contains(t, d.send("GET", "/rollouts/rollout/shop/web/"+action, "", nil).Body.String(), want...)
	}
	first := d.send("GET", "/rollouts/rollout/shop/web/image", "", nil).Body.String()
	contains(t, first, `type="text" name="image-nginx" value="nginx:2"`, "Preview")
	if strings.Contains(first, `method="post" action="/rollouts/rollout/shop/web/image"`) {
		t.Error("an image can be set before the page says what that does")
	}
	d.cluster.PrependReactor("list", "services", func(k8stesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("services may not be listed")
	})
	contains(t, d.send("GET", "/rollouts/rollout/shop/web/pause", "", nil).Body.String(), "cannot be played ahead: services may not be listed", `type="submit">Pause<`)
}

func TestReadOnly(t *testing.T) {
	d := newDesk(t, func(o *Options) { o.ReadOnly = true }, paused).enter()
	if w := d.send("POST", "/rollouts/rollout/shop/web/promote", "csrf="+d.server.guard.csrf(d.cookie.Value), nil); w.Code != http.StatusForbidden || len(d.writes()) > 0 {
		t.Errorf("status %d, written %q", w.Code, d.writes())
	}
	if page := d.send("GET", "/rollouts/rollout/shop/web", "", nil).Body.String(); strings.Contains(page, "data-ask") {
		t.Error("a page offers actions")
	}
}

// What one may not do is named with the reason, and offered to nobody.
func TestWhatIsNotAllowedIsGreyedOut(t *testing.T) {
	d := newDesk(t, nil, paused)
	d.cluster.PrependReactor("create", "selfsubjectaccessreviews", func(k8stesting.Action) (bool, runtime.Object, error) {
		return true, &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"allowed": false, "reason": "ask the shop team"}}}, nil
	})
	page := d.enter().send("GET", "/rollouts/rollout/shop/web", "", nil).Body.String()
	contains(t, page, `aria-disabled="true" tabindex="0" title="ask the shop team">Promote<`)
	if strings.Contains(page, `href="/rollouts/rollout/shop/web/promote"`) {
		t.Error("promote is offered all the same")
	}
}
