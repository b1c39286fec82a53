package login

import (
	"bufio"
	"context"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-delivery/sluice/internal/playtest"
)

// Jane may change the Rollouts of one namespace, Sam may list those of the other and nothing else. The dashboard has all of them in one
// cache, and shows each what is theirs.
func TestEveryoneSeesWhatTheyMayList(t *testing.T) {
	ns := playtest.New(t)
	other := ns.Neighbor()
	ns.StartController()
	ns.StartController("--namespace", other.Name)
	paused(t, ns, "storefront")
	grant(t, ns, "Group", "rollouts-users", rule("get list watch patch update", "argoproj.io", "rollouts rollouts/status analysisruns experiments analysistemplates"),
		rule("get list watch", ",apps", "pods replicasets services events"))
	grant(t, other, "User", "sam@example.com", rule("get list watch", "argoproj.io", "rollouts"))
	o := newOffice(t, ns, nil)

	o.is("jane@example.com", "rollouts-users", "others", "system:masters")
	jane := o.browser()
	page := jane.until("/rollouts/", "storefront")
	if !strings.Contains(page, "jane@example.com") {
		t.Error("the page does not say who looks")
	}
	jane.until("/rollouts/rollout/"+ns.Name+"/storefront", "until someone promotes")
	jane.until("/rollouts/rollout/"+ns.Name+"/storefront", "1/1 ready")

	o.is("sam@example.com")
	sam := o.browser()
	status, page := sam.page("/rollouts/")
	if status != http.StatusOK || strings.Contains(page, ns.Name) { // sam may see those of other tests
		t.Errorf("sam sees the other's list: %d %s", status, page)
	}
	for _, path := range []string{"", "/promote", "/nothing"} {
		if status, page := sam.page("/rollouts/rollout/" + ns.Name + "/storefront" + path); status != http.StatusNotFound || strings.Contains(page, "nginx") {
			t.Errorf("sam opens the other's page %q: %d %s", path, status, page)
		}
	}
	for _, path := range []string{"/api/v1/rollouts/" + ns.Name + "/info", "/api/v1/rollouts/" + ns.Name + "/storefront/info", "/api/v1/rollouts/" + ns.Name + "/storefront/info/watch", "/api/v1/namespace"} {
		if _, text := sam.page("/rollouts" + path); strings.Contains(text, "nginx") || strings.Contains(text, "storefront\"") || strings.Contains(text, `["`+ns.Name) {
			t.Errorf("sam reads %s: %s", path, text)
		}
	}
	// A change in one namespace is told to nobody who may not see it.
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream := sam.stream(ctx, "/rollouts/")
	stream.until(t, `"id":"f-rows"`)
	paused(t, other, "billing")
	seen := stream.until(t, "billing")
	if strings.Contains(seen, ns.Name) {
		t.Errorf("sam's page shows Rollouts that sam may not list: %s", seen)
	}
	// Rollouts are all that sam may list: no pods, no ReplicaSets, and no explanation that would need more.
	page = sam.until("/rollouts/rollout/"+other.Name+"/billing", "cannot list resource")
	if strings.Contains(page, "1/1 ready") || strings.Contains(page, "nginx:1") {
		t.Errorf("sam sees pods or ReplicaSets: %s", page)
	}
	if _, page := sam.page("/rollouts/?mine=1"); strings.Contains(page, "billing") || !strings.Contains(page, "Show all") {
		t.Errorf("sam may change what sam may list: %s", page)
	}
	if _, page := jane.page("/rollouts/?mine=1"); !strings.Contains(page, "storefront") {
		t.Errorf("jane may change nothing: %s", page)
	}
	if _, page := jane.page("/rollouts/"); strings.Contains(page, "billing") {
		t.Error("jane sees sam's namespace")
	}
}

// What people do the API server does in their name, or refuses; and the Rollout has an event that says who it was.
func TestC14PeopleActAsThemselves(t *testing.T) {
	ns := playtest.New(t)
	ns.StartController()
	paused(t, ns, "storefront")
	see := rule("get list watch", "argoproj.io,apps,", "rollouts analysisruns experiments analysistemplates pods replicasets services events")
	grant(t, ns, "Group", "rollouts-users", see, rule("patch update", "argoproj.io", "rollouts rollouts/status"))
	grant(t, ns, "User", "sam@example.com", see)
	o := newOffice(t, ns, nil)
	path := "/rollouts/rollout/" + ns.Name + "/storefront"

	o.is("sam@example.com", "managers")
	sam := o.browser()
	page := sam.until(path, "Promote")
	if !strings.Contains(page, `aria-disabled="true"`) || strings.Contains(page, path+"/promote") {
		t.Error("sam is offered what sam may not do")
	}
	if status, page := sam.send("POST", path+"/promote", sam.form(path+"/promote"), nil); status != http.StatusBadGateway || !strings.Contains(page, "sam@example.com&#34; cannot patch") {
		t.Errorf("sam promotes: %d %s", status, page)
	}

	o.is("jane@example.com", "rollouts-users")
	jane := o.browser()
	for action, want := range map[string]string{
		"promote": "step 2 of 2 is done: pause", "skip-step": "scale storefront-", "promote-full": "scale storefront-", "abort": "scale storefront-", "pause": "spec.paused is set",
	} {
		if _, page := jane.page(path + "/" + action); !strings.Contains(page, want) {
			t.Errorf("%s does not say what will happen: %s", action, page)
		}
	}
	form := jane.form(path + "/promote")
	for what, change := range map[string]func(*http.Request){
		"another site":    func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") },
		"another browser": func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") },
	} {
		if status, _ := jane.send("POST", path+"/promote", form, change); status != http.StatusForbidden {
			t.Errorf("a form of %s: %d", what, status)
		}
	}
	stolen := url.Values{"seen": form["seen"], "csrf": sam.form(path + "/promote")["csrf"]}
	if status, _ := jane.send("POST", path+"/promote", stolen, nil); status != http.StatusForbidden {
		t.Errorf("a form of sam's: %d", status)
	}
	if status, _ := jane.send("PUT", "/rollouts/api/v1/rollouts/"+ns.Name+"/storefront/promote", nil, nil); status != http.StatusForbidden {
		t.Errorf("the REST API with a cookie: %d", status)
	}
	if status, page := jane.send("POST", path+"/promote", form, nil); status != http.StatusOK || !strings.Contains(page, "promoted") {
		t.Fatalf("jane promotes: %d %s", status, page)
	}
	ns.WaitForRollout("storefront", "to be Healthy", playtest.Healthy)
	ns.WaitForEvents("storefront", "UserAction promoted by jane@example.com")
	audited(t, ns, "storefront", "jane@example.com", "patch")
}

// A dashboard that was not told otherwise only shows.
func TestReadOnlyByDefault(t *testing.T) {
	ns := playtest.New(t)
	ns.StartController()
	paused(t, ns, "storefront")
	grant(t, ns, "User", "jane@example.com", rule("*", "argoproj.io,apps,", "*"))
	o := newOffice(t, ns, func(o *office) { o.mayChange = false })
	o.is("jane@example.com")
	jane := o.browser()
	page := jane.until("/rollouts/rollout/"+ns.Name+"/storefront", "storefront")
	if strings.Contains(page, "data-ask") {
		t.Error("actions are offered")
	}
	if status, page := jane.send("POST", "/rollouts/rollout/"+ns.Name+"/storefront/promote", nil, nil); status != http.StatusForbidden || !strings.Contains(page, "changes nothing") {
		t.Errorf("an action: %d %s", status, page)
	}
}

func TestLogins(t *testing.T) {
	ns := playtest.New(t)
	o := newOffice(t, ns, nil)
	for name, test := range map[string]struct {
		before func()
		want   string
	}{
		"of an address that is not verified": {func() { o.claims["email_verified"] = false }, "has not been verified"},
		"of a user of Kubernetes itself":     {func() { o.claims["email"] = "system:admin" }, "would be one of Kubernetes itself"},
		"without a name":                     {func() { delete(o.claims, "email") }, "sent no claim"},
		"with another's nonce":               {func() { o.nonce = "stolen" }, "an answer is one to another login"},
		"that has ended already":             {func() { o.lifetime = -time.Hour }, "ID token is not good"},
		"for another client":                 {func() { o.claims["aud"] = "other" }, "ID token is not good"},
	} {
		o.is("jane@example.com")
		o.set(func() { o.nonce, o.lifetime = "", time.Hour; test.before() })
		status, page := o.browser().page("/rollouts/")
		want := strings.ReplaceAll(test.want, "an answer", "answer")
		if status != http.StatusForbidden || !strings.Contains(page, want) {
			t.Errorf("a login %s: %d %s", name, status, page)
		}
	}
	o.set(func() { o.nonce, o.lifetime = "", time.Hour })
	o.is("jane@example.com")
	victim := o.browser()
	for what, query := range map[string]string{"nobody's": "code=x&state=y", "a refusal": "error=access_denied"} {
		if status, page := victim.page("/rollouts/callback?" + query); status != http.StatusForbidden || !strings.Contains(page, "another window") {
			t.Errorf("a callback that is %s: %d %s", what, status, page)
		}
	}
	if status, _ := victim.send("GET", "/rollouts/", nil, func(r *http.Request) { r.Host = "evil.example" }); status != http.StatusMisdirectedRequest {
		t.Errorf("another host: %d", status)
	}
	if status, page := victim.send("GET", "/rollouts/", nil, func(r *http.Request) { r.Header.Set("Accept", "text/event-stream") }); status != http.StatusUnauthorized {
		t.Errorf("a stream of nobody: %d %s", status, page)
	}
	// The way back leads to a page of ours.
	victim.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
		if r.URL.Host != o.options.URL.Host && !strings.HasPrefix(r.URL.String(), o.server.URL) {
			t.Errorf("a login leads to %s", r.URL)
		}
		return nil
	}
	for _, next := range []string{"//evil.example/", "https://evil.example/", "/rollouts/../../evil", "/\\evil.example"} {
		if status, page := victim.page("/rollouts/login?" + url.Values{"next": {next}}.Encode()); status != http.StatusOK && status != http.StatusNotFound {
			t.Errorf("next=%s: %d %s", next, status, page)
		}
	}
}

// What a browser keeps cannot be read, changed, or used after its time; and a restart does not end it.
func TestSessions(t *testing.T) {
	ns := playtest.New(t)
	o := newOffice(t, ns, nil)
	o.is("jane@example.com")
	jane := o.browser()
	if status, page := jane.page("/rollouts/"); status != http.StatusOK {
		t.Fatalf("%d %s", status, page)
	}
	cookies := jane.Jar.Cookies(o.options.URL)
	if len(cookies) != 1 || cookies[0].Name != sessionCookie || strings.Contains(cookies[0].Value, "jane") {
		t.Fatalf("cookies %v", cookies)
	}
	enter := func(value string) int {
		status, _ := o.browser().send("GET", "/rollouts/session", nil, func(r *http.Request) {
			r.Header.Set("Accept", "*/*")
			r.Header.Set("Cookie", sessionCookie+"="+value)
		})
		return status
	}
	good := cookies[0].Value
	flip := map[bool]string{true: "A", false: "B"}
	for what, test := range map[string]struct {
		value string
		want  int
	}{
		"as it is": {good, http.StatusNoContent}, "changed": {good[:20] + flip[good[20] != 'A'] + good[21:], http.StatusUnauthorized}, "cut": {good[:len(good)-4], http.StatusUnauthorized},
		"of a login under way": {mustSealer(t, o.key).seal(loginCookie, session{User: "eve", Began: time.Now(), Until: time.Now().Add(time.Hour)}), http.StatusUnauthorized},
		"of another key":       {mustSealer(t, []byte(strings.Repeat("x", 32))).seal(sessionCookie, session{User: "eve", Began: time.Now(), Until: time.Now().Add(time.Hour)}), http.StatusUnauthorized},
	} {
		if got := enter(test.value); got != test.want {
			t.Errorf("a cookie %s: %d, want %d", what, got, test.want)
		}
	}
	again, err := NewOIDC(t.Context(), o.options) // another process with the same key
	if err != nil {
		t.Fatal(err)
	}
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, o.web.URL, http.NoBody)
	r.AddCookie(cookies[0])
	if p, err := again.Enter(nil, r); err != nil || p.Name != "jane@example.com" {
		t.Errorf("after a restart: %q %v", p.Name, err)
	}

	o.clock.SetTime(time.Now().Add(13 * time.Hour))
	if got := enter(good); got != http.StatusUnauthorized {
		t.Errorf("after the longest time: %d", got)
	}
}

// The provider is asked again when its word ends: once, however many requests there are. What it says then counts.
func TestSessionsAreRenewed(t *testing.T) {
	ns := playtest.New(t)
	o := newOffice(t, ns, nil)
	o.set(func() { o.lifetime = 30 * time.Minute })
	o.is("jane@example.com", "rollouts-users")
	jane := o.browser()
	if status, page := jane.page("/rollouts/"); status != http.StatusOK {
		t.Fatalf("%d %s", status, page)
	}
	o.set(func() { o.lifetime = 2 * time.Hour })
	o.clock.SetTime(time.Now().Add(time.Hour))
	var several sync.WaitGroup
	old := jane.Jar.Cookies(o.options.URL)[0]
	for range 8 {
		several.Go(func() {
			status, _ := o.browser().send("GET", "/rollouts/session", nil, func(r *http.Request) { r.AddCookie(old) })
			if status != http.StatusNoContent {
				t.Errorf("a request meanwhile: %d", status)
			}
		})
	}
	several.Wait()
	if status, _ := jane.page("/rollouts/session"); status != http.StatusNoContent {
		t.Errorf("after the renewal: %d", status)
	}
	if o.refreshed != 1 {
		t.Errorf("the provider was asked %d times", o.refreshed)
	}
	o.clock.SetTime(time.Now().Add(3 * time.Hour))
	o.set(func() { o.down = true })
	if status, _ := jane.page("/rollouts/session"); status != http.StatusServiceUnavailable {
		t.Errorf("while the provider is down: %d", status)
	}
	o.set(func() { o.down, o.refresh = false, "" }) // the provider has ended the session
	if status, _ := jane.send("GET", "/rollouts/session", nil, func(r *http.Request) { r.Header.Set("Accept", "*/*") }); status != http.StatusUnauthorized {
		t.Errorf("after the provider has ended it: %d", status)
	}
}

func TestLoggingOut(t *testing.T) {
	ns := playtest.New(t)
	o := newOffice(t, ns, nil)
	o.is("jane@example.com")
	jane := o.browser()
	_, page := jane.page("/rollouts/")
	_, page, _ = strings.Cut(page, `action="/rollouts/logout"`)
	csrf := hidden.FindStringSubmatch(page)
	if status, _ := jane.send("POST", "/rollouts/logout", nil, nil); status != http.StatusForbidden {
		t.Errorf("without its form: %d", status)
	}
	if status, page := jane.send("POST", "/rollouts/logout", url.Values{"csrf": {csrf[2]}}, nil); status != http.StatusOK || !strings.Contains(page, "logged out") {
		t.Errorf("%d %s", status, page)
	}
	if left := jane.Jar.Cookies(o.options.URL); len(left) != 0 {
		t.Errorf("the browser keeps %v", left)
	}
}

// With tokens the API server says who it is, and decides with that token's rights.
func TestTokensArePassedThrough(t *testing.T) {
	ns := playtest.New(t)
	ns.StartController()
	paused(t, ns, "storefront")
	ns.As("deployer", rule("get list watch patch update", "argoproj.io,apps,", "rollouts rollouts/status replicasets pods experiments analysisruns services"))
	ns.As("stranger")
	o := newOffice(t, ns, func(o *office) { o.tokens = true })
	ask := func(account, method, path string) (int, string) {
		return o.browser().send(method, path, nil, func(r *http.Request) {
			if account != "" {
				r.Header.Set("Authorization", "Bearer "+tokenOf(t, ns, account))
			}
		})
	}
	for account, want := range map[string]int{"": http.StatusUnauthorized, "nobody": http.StatusUnauthorized, "stranger": http.StatusNotFound} {
		if status, text := ask(account, "GET", "/rollouts/api/v1/rollouts/"+ns.Name+"/storefront/info"); status != want || strings.Contains(text, "nginx") {
			t.Errorf("%q: %d %s", account, status, text)
		}
	}
	ns.WaitUntil("the cache", func() error {
		status, text := ask("deployer", "GET", "/rollouts/api/v1/rollouts/"+ns.Name+"/storefront/info")
		if status != http.StatusOK {
			return errStatus(text)
		}
		return nil
	})
	if status, text := ask("deployer", "PUT", "/rollouts/api/v1/rollouts/"+ns.Name+"/storefront/promote"); status != http.StatusOK {
		t.Fatalf("%d %s", status, text)
	}
	ns.WaitForEvents("storefront", "UserAction promoted by system:serviceaccount:"+ns.Name+":deployer")
	if status, text := ask("stranger", "PUT", "/rollouts/api/v1/rollouts/"+ns.Name+"/storefront/abort"); status != http.StatusForbidden {
		t.Errorf("a stranger aborts: %d %s", status, text)
	}
}

type errStatus string

func (e errStatus) Error() string { return string(e) }

func mustSealer(t *testing.T, key []byte) sealer {
	t.Helper()
	s, err := newSealer(key)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// events are a stream of server-sent events.
type events struct{ lines *bufio.Scanner }

func (b *browser) stream(ctx context.Context, path string) events {
	b.o.t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, b.o.web.URL+path, http.NoBody)
	if err != nil {
		b.o.t.Fatal(err)
	}
	r.Header.Set("Accept", "text/event-stream")
	w, err := b.Do(r)
	if err != nil || w.StatusCode != http.StatusOK {
		b.o.t.Fatal(w, err)
	}
	b.o.t.Cleanup(func() { _ = w.Body.Close() })
	lines := bufio.NewScanner(w.Body)
	lines.Buffer(nil, 1<<20)
	return events{lines}
}

// until reads to a text, and returns all that came before.
func (e events) until(t *testing.T, text string) string {
	t.Helper()
	var read strings.Builder
	for e.lines.Scan() {
		read.WriteString(e.lines.Text() + "\n")
		if strings.Contains(e.lines.Text(), text) {
			return read.String()
		}
	}
	t.Fatalf("the stream ended before %q: %v\n%s", text, e.lines.Err(), read.String())
	return ""
}
