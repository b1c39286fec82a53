package dashboard

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
)

func TestLinksLetInOnce(t *testing.T) {
	d := newDesk(t, nil, paused)
	if w := d.send("GET", "/rollouts/", "", nil); w.Code != http.StatusUnauthorized || strings.Contains(w.Body.String(), "shop") {
		t.Errorf("without a link: %d", w.Code)
	}
	if w := d.send("GET", "/rollouts/login?token=", "", nil); w.Code != http.StatusUnauthorized {
		t.Errorf("an empty token: %d", w.Code)
	}
	d.enter()
	if c := d.cookie; !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/rollouts/" {
		t.Errorf("cookie %+v", c)
	}
	used := d.links[0]
	if len(d.links) != 2 || d.links[1] == used {
		t.Errorf("links %q", d.links)
	}
	cookie := d.cookie
	d.cookie = nil
	if w := d.send("GET", "/rollouts/login?token="+used, "", nil); w.Code != http.StatusUnauthorized {
		t.Errorf("a link that was used: %d", w.Code)
	}
	for what, value := range map[string]string{"forged": "x.y", "changed": "x" + cookie.Value, "empty": ""} {
		d.cookie = &http.Cookie{Name: cookie.Name, Value: value}
		if w := d.send("GET", "/rollouts/", "", nil); w.Code != http.StatusUnauthorized {
			t.Errorf("a cookie that is %s: %d", what, w.Code)
		}
	}
	d.cookie = nil
	w := d.send("GET", "/rollouts/login?token="+d.links[1]+"&next=//evil.example/", "", nil)
	if to := w.Header().Get("Location"); to != "/rollouts/" {
		t.Errorf("a link leads to %q", to)
	}
}

func TestGuessingIsLimited(t *testing.T) {
	d := newDesk(t, nil, paused)
	for range loginsPerMinute {
		d.send("GET", "/rollouts/login?token=guess", "", nil)
	}
	if w := d.send("GET", "/rollouts/login?token="+d.links[0], "", nil); w.Code != http.StatusTooManyRequests {
		t.Errorf("after %d guesses: %d", loginsPerMinute, w.Code)
	}
}

func TestActionsAreLimited(t *testing.T) {
	d := newDesk(t, nil, paused).enter()
	last := 0
	for range actionsAtOnce + 5 {
		last = d.send("POST", "/rollouts/rollout/shop/web/promote", "", nil).Code
	}
	if last != http.StatusTooManyRequests || len(d.writes()) > 0 {
		t.Errorf("status %d, written %q", last, d.writes())
	}
}

// A name of an attacker that resolves to this machine makes the attacker's page one of the same origin.
func TestAnotherHostIsNotAnswered(t *testing.T) {
	d := newDesk(t, nil, paused).enter()
	for _, host := range []string{"evil.example:3100", "evil.example", "127.0.0.1", "127.0.0.1:80", "localhost.evil.example:3100", ""} {
		w := d.send("GET", "/rollouts/", "", func(r *http.Request) { r.Host = host })
		if w.Code != http.StatusMisdirectedRequest || strings.Contains(w.Body.String(), "shop") {
			t.Errorf("host %q: %d", host, w.Code)
		}
	}
	for _, host := range []string{"localhost:3100", "LOCALHOST:3100", "[::1]:3100"} {
		if w := d.send("GET", "/rollouts/", "", func(r *http.Request) { r.Host = host }); w.Code != http.StatusOK {
			t.Errorf("host %q: %d", host, w.Code)
		}
	}
}

// Pages of other sites, other ports of this machine among them, may link here, and no more.
func TestAnotherSiteChangesAndReadsNothing(t *testing.T) {
	d := newDesk(t, nil, paused).enter()
	form := d.form("promote").Encode()
	for name, from := range map[string]map[string]string{
		"another origin":                 {"Origin": "http://evil.example"},
		"another port":                   {"Origin": "http://127.0.0.1:8080"},
		"no origin that could be named":  {"Origin": "null"},
		"another site":                   {"Sec-Fetch-Site": "cross-site"},
		"another port, says the browser": {"Sec-Fetch-Site": "same-site"},
	} {
		w := d.send("POST", "/rollouts/rollout/shop/web/promote", form, func(r *http.Request) {
			for k, v := range from {
				r.Header.Set(k, v)
			}
		})
		if w.Code != http.StatusForbidden || len(d.writes()) > 0 {
			t.Errorf("%s: %d, written %q", name, w.Code, d.writes())
		}
	}
	for mode, want := range map[string]int{"no-cors": 403, "cors": 403, "navigate": 200} {
		w := d.send("GET", "/rollouts/", "", func(r *http.Request) {
			r.Header.Set("Sec-Fetch-Site", "cross-site")
			r.Header.Set("Sec-Fetch-Mode", mode)
			r.Header.Set("Sec-Fetch-Dest", "document")
		})
		if w.Code != want {
			t.Errorf("reading in mode %s: %d, want %d", mode, w.Code, want)
		}
	}
	frame := d.send("GET", "/rollouts/", "", func(r *http.Request) {
		r.Header.Set("Sec-Fetch-Site", "cross-site")
		r.Header.Set("Sec-Fetch-Mode", "navigate")
		r.Header.Set("Sec-Fetch-Dest", "iframe")
	})
	if frame.Code != http.StatusForbidden {
		t.Errorf("a frame: %d", frame.Code)
	}
}

func TestFormsNeedTheTokenOfTheirSession(t *testing.T) {
	d := newDesk(t, nil, paused).enter()
	form := d.form("promote")
	other := newDesk(t, nil, paused).enter().form("promote")
	for name, token := range map[string]string{"none": "", "of another process": other.Get("csrf"), "changed": form.Get("csrf") + "x"} {
		form.Set("csrf", token)
		w := d.send("POST", "/rollouts/rollout/shop/web/promote", form.Encode(), nil)
		if w.Code != http.StatusForbidden || len(d.writes()) > 0 {
			t.Errorf("token %s: %d, written %q", name, w.Code, d.writes())
		}
	}
}

// No page may run, load or be framed by anything else, and none has anything inline that the policy would have to allow.
func TestPagesRunNothingButTheirOwnScript(t *testing.T) {
	hostile := strings.ReplaceAll(strings.ReplaceAll(paused, "nginx:2", `"><script>alert(1)</script>`), `image: ""><script>alert(1)</script>"`, `image: '"><script>alert(1)</script>'`)
	d := newDesk(t, nil, hostile).enter()
	inline := regexp.MustCompile(`(?i)<script>|<style|\sstyle=|\son[a-z]+=|javascript:`)
	for _, path := range []string{"/rollouts/", "/rollouts/rollout/shop/web", "/rollouts/rollout/shop/web/promote", "/rollouts/rollout/shop/web/image", "/rollouts/none/x", "/rollouts/login?token=x"} {
		w := d.send("GET", path, "", nil)
		policy := w.Header().Get("Content-Security-Policy")
		contains(t, policy, "default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "form-action 'self'", "base-uri 'none'")
		if strings.Contains(policy, "unsafe") || w.Header().Get("X-Frame-Options") != "DENY" || w.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: headers %v", path, w.Header())
		}
		if found := inline.FindString(w.Body.String()); found != "" {
			t.Errorf("%s has %q inline", path, found)
		}
		if got := w.Header().Get("Referrer-Policy"); got != "same-origin" { // browsers send the forms of pages with another one without their origin
			t.Errorf("%s: Referrer-Policy %q", path, got)
		}
		if w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s may be kept: %q", path, w.Header().Get("Cache-Control"))
		}
	}
}

// Scripts send their token instead of a cookie; it lets no page act.
func TestScriptsSendTheirToken(t *testing.T) {
	d := newDesk(t, nil, paused)
	for token, want := range map[string]int{"script": 200, "other": 401, "": 401} {
		w := d.send("GET", "/rollouts/", "", func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) })
		if w.Code != want {
			t.Errorf("token %q: %d, want %d", token, w.Code, want)
		}
	}
	none := newDesk(t, func(o *Options) { o.Bearer = "" }, paused)
	if w := none.send("GET", "/rollouts/", "", func(r *http.Request) { r.Header.Set("Authorization", "Bearer ") }); w.Code != http.StatusUnauthorized {
		t.Errorf("an empty token where there is none: %d", w.Code)
	}
}
