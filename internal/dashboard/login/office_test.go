package login

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/sluice-delivery/sluice/internal/cli/live"
	"github.com/sluice-delivery/sluice/internal/dashboard"
	"github.com/sluice-delivery/sluice/internal/playtest"
)

// auditLog is where the API server logs every request.
var auditLog = filepath.Join(os.TempDir(), fmt.Sprintf("sluice-login-audit-%d.log", os.Getpid()))

func TestMain(m *testing.M) {
	if err := trust(); err != nil {
		panic(err)
	}
	code := playtest.RunWith(m, []string{"--audit-log", auditLog, "--authentication-config", trusted})
	for _, file := range []string{auditLog, trusted} {
		if err := os.Remove(file); err != nil && code == 0 {
			panic(err)
		}
	}
	os.Exit(code)
}

// audited waits until the API server's audit log says that the dashboard wrote to a Rollout in a person's name.
func audited(t *testing.T, ns *playtest.Namespace, rollout, person, verb string) {
	t.Helper()
	logged(t, ns, rollout, verb, "system:serviceaccount:argo-rollouts:argo-rollouts-dashboard", person)
}

// logged waits until the API server's audit log says that a user wrote to a Rollout, as itself or as the one it impersonated.
func logged(t *testing.T, ns *playtest.Namespace, rollout, verb, user, impersonated string) {
	t.Helper()
	ns.WaitUntil("an entry in the audit log", func() error {
		text, err := os.ReadFile(auditLog)
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(text)) {
			var entry struct {
				Verb                   string
				User, ImpersonatedUser struct{ Username string }
				ObjectRef              struct{ Resource, Namespace, Name string }
				ResponseStatus         struct{ Code int }
			}
			if json.Unmarshal([]byte(line), &entry) != nil || entry.ObjectRef.Resource != "rollouts" || entry.ObjectRef.Namespace != ns.Name || entry.ObjectRef.Name != rollout || entry.Verb != verb {
				continue
			}
			if entry.User.Username == user && entry.ImpersonatedUser.Username == impersonated && entry.ResponseStatus.Code == http.StatusOK {
				return nil
			}
		}
		return errStatus("there is none yet")
	})
}

// office is a dashboard with the rights of config/dashboard on the playground, and the provider at which its people log in.
type office struct {
	t *testing.T
	*provider
	clock   *clocktesting.FakePassiveClock
	client  live.Client
	web     *httptest.Server
	handler atomic.Pointer[http.Handler]
	end     func()
	// changes to how it is started.
	options   Options
	key       []byte
	mayChange bool
	tokens    bool
}

// hours is a clock that the test sets; what waits, waits in real time.
type hours struct {
	*clocktesting.FakePassiveClock
	clock.RealClock
}

func (h hours) Now() time.Time                  { return h.FakePassiveClock.Now() }
func (h hours) Since(t time.Time) time.Duration { return h.FakePassiveClock.Since(t) }

func newOffice(t *testing.T, ns *playtest.Namespace, change func(*office)) *office {
	t.Helper()
	o := &office{t: t, provider: newProvider(t), clock: clocktesting.NewFakePassiveClock(time.Now()), key: []byte(strings.Repeat("k", 32)), mayChange: true}
	o.options = Options{
		ClientID: "dashboard", ClientSecret: "secret", Scopes: []string{"openid", "email"}, MaxAge: 12 * time.Hour,
		Mapping: Mapping{UserClaim: "email", GroupClaim: "groups", Groups: []string{"rollouts-users"}},
	}
	if change != nil {
		change(o)
	}
	for _, file := range []string{"rbac.yaml", "oidc/rbac.yaml"} {
		ns.Apply(playtest.Root() + "/config/dashboard/" + file)
	}
	at := *ns
	at.Name = "argo-rollouts"
	base, err := clientcmd.BuildConfigFromFlags("", at.KubeconfigOf("argo-rollouts-dashboard"))
	if err != nil {
		t.Fatal(err)
	}
	o.options.Base, o.options.Issuer, o.options.HTTP, o.options.Clock, o.options.Key = base, o.server.URL, o.server.Client(), hours{o.clock, clock.RealClock{}}, o.key
	client, err := dynamic.NewForConfig(base)
	if err != nil {
		t.Fatal(err)
	}
	o.web = httptest.NewUnstartedServer(nil)
	o.options.URL = &url.URL{Scheme: "https", Host: o.web.Listener.Addr().String(), Path: "/rollouts"}
	o.client = live.Client{Interface: client}
	o.web.Config.Handler = o
	o.begin()
	o.web.StartTLS()
	t.Cleanup(func() { o.web.CloseClientConnections(); o.web.Close(); o.end() })
	return o
}

// begin starts the dashboard, as a process that knows nothing but its options.
func (o *office) begin() {
	o.t.Helper()
	var door dashboard.Door = NewTokens(o.options.Base, o.options.Clock)
	if !o.tokens {
		var err error
		if door, err = NewOIDC(o.t.Context(), o.options); err != nil {
			o.t.Fatal(err)
		}
	}
	server := dashboard.New(dashboard.Options{
		Clock: o.options.Clock, Client: o.client, Door: door, Secret: o.key, Secure: true, Root: "rollouts",
		Hosts: []string{o.options.URL.Host}, ReadOnly: !o.mayChange,
	})
	ctx, cancel := context.WithCancel(o.t.Context())
	done := make(chan struct{})
	go func() { server.Run(ctx); close(done) }()
	handler := server.Handler()
	o.handler.Store(&handler)
	o.end = func() { cancel(); <-done }
}

// stop ends the dashboard. Until another one begins nobody answers.
func (o *office) stop() {
	o.handler.Store(nil)
	o.web.CloseClientConnections()
	o.end()
}

// ServeHTTP is what answers at the dashboard's address.
func (o *office) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	handler := o.handler.Load()
	if handler == nil {
		panic(http.ErrAbortHandler) // which closes the connection
	}
	(*handler).ServeHTTP(w, r)
}

// browser is one of a person, with cookies of its own.
type browser struct {
	o *office
	*http.Client
}

func (o *office) browser() *browser {
	o.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		o.t.Fatal(err)
	}
	transport := o.web.Client().Transport.(*http.Transport).Clone()
	transport.TLSClientConfig.InsecureSkipVerify = true // of two servers that the test has made
	return &browser{o, &http.Client{Transport: transport, Jar: jar, Timeout: playtest.Patience}}
}

// page opens a page as a person does, through the login if need be.
func (b *browser) page(path string) (int, string) {
	b.o.t.Helper()
	return b.send(http.MethodGet, path, nil, nil)
}

func (b *browser) send(method, path string, form url.Values, change func(*http.Request)) (int, string) {
	b.o.t.Helper()
	r, err := http.NewRequestWithContext(b.o.t.Context(), method, b.o.web.URL+path, strings.NewReader(form.Encode()))
	if err != nil {
		b.o.t.Fatal(err)
	}
	r.Header.Set("Accept", "text/html")
	if method != http.MethodGet {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", b.o.web.URL)
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	if change != nil {
		change(r)
	}
	w, err := b.Do(r)
	if err != nil {
		b.o.t.Fatal(err)
	}
	defer func() { _ = w.Body.Close() }()
	text, err := io.ReadAll(w.Body)
	if err != nil {
		b.o.t.Fatal(err)
	}
	return w.StatusCode, string(text)
}

// until opens a page again until it has a text: the cache follows the cluster.
func (b *browser) until(path, text string) string {
	b.o.t.Helper()
	end := time.After(playtest.Patience)
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for {
		status, page := b.page(path)
		if strings.Contains(page, text) {
			return page
		}
		select {
		case <-again.C:
		case <-end:
			b.o.t.Fatalf("%s does not show %q: %d %s", path, text, status, page)
		}
	}
}

var hidden = regexp.MustCompile(`<input type="(?:hidden|text)" name="([^"]+)" value="([^"]*)"`)

// form is what the page of an action would send.
func (b *browser) form(path string) url.Values {
	b.o.t.Helper()
	status, page := b.page(path)
	if status != http.StatusOK {
		b.o.t.Fatalf("%s: %d %s", path, status, page)
	}
	_, page, _ = strings.Cut(page, `id="question"`)
	values := url.Values{}
	for _, m := range hidden.FindAllStringSubmatch(page, -1) {
		values.Set(m[1], m[2])
	}
	return values
}

// grant binds a role of a namespace to a user or a group.
func grant(t *testing.T, ns *playtest.Namespace, kind, subject string, rules ...rbacv1.PolicyRule) {
	t.Helper()
	meta := metav1.ObjectMeta{Namespace: ns.Name, GenerateName: "person-"}
	role := &rbacv1.Role{ObjectMeta: meta, Rules: rules}
	if err := ns.Client.Create(t.Context(), role); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
		Subjects: []rbacv1.Subject{{Kind: kind, APIGroup: rbacv1.GroupName, Name: subject}},
	}
	if err := ns.Client.Create(t.Context(), binding); err != nil {
		t.Fatal(err)
	}
}

func rule(verbs, groups, resources string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{Verbs: strings.Fields(verbs), APIGroups: strings.Split(groups, ","), Resources: strings.Fields(resources)}
}

// tokenOf is a token of a service account, or one of nobody.
func tokenOf(t *testing.T, ns *playtest.Namespace, account string) string {
	t.Helper()
	if account == "nobody" {
		return "not-a-token"
	}
	config, err := clientcmd.BuildConfigFromFlags("", ns.KubeconfigOf(account))
	if err != nil {
		t.Fatal(err)
	}
	return config.BearerToken
}

// paused is a canary that waits for a person.
func paused(t *testing.T, ns *playtest.Namespace, name string) {
	t.Helper()
	ns.CreateRollout(fmt.Sprintf(`
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: %[1]s}
spec:
  replicas: 2
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec: {containers: [{name: nginx, image: "nginx:1"}]}
  strategy: {canary: {steps: [{setWeight: 50}, {pause: {}}]}}
`, name))
	ns.WaitForRollout(name, "to be Healthy", playtest.Healthy)
	ns.SetImage(name, "nginx:2")
	ns.WaitForRollout(name, "to pause", playtest.Paused)
}
