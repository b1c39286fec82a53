package login

import (
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"

	"github.com/sluice-delivery/sluice/internal/playtest"
)

// trusted is the file in which the API server finds the providers that it trusts.
var trusted = filepath.Join(os.TempDir(), fmt.Sprintf("sluice-login-providers-%d.yaml", os.Getpid()))

// trust has the API server accept the tokens of these providers, for the client of the dashboard.
func trust(providers ...*provider) error {
	text := "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\njwt:\n"
	for _, p := range providers {
		ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.server.Certificate().Raw})
		text += fmt.Sprintf("- issuer: {url: %q, audiences: [dashboard], certificateAuthority: %q}\n", p.server.URL, ca) +
			"  claimMappings: {username: {claim: email, prefix: \"\"}, groups: {claim: groups, prefix: \"\"}}\n"
	}
	return os.WriteFile(trusted, []byte(text), 0o600)
}

// The program sluice-dashboard behind a proxy that logs people in and passes their ID tokens on, and an API server that trusts their provider: it
// decides in the person's name, and its audit log has that name and no other. Once the proxy is oauth2-proxy, as examples/dashboard starts it, and
// once it is one of this test that does what the arguments there promise.
func TestBehindAProxyThatLogsPeopleIn(t *testing.T) {
	for name, start := range map[string]func(*testing.T, proxied) *url.URL{"oauth2-proxy": startOAuth2Proxy, "another proxy": startForwarder} {
		t.Run(name, func(t *testing.T) {
			ns := playtest.New(t)
			ns.StartController()
			paused(t, ns, "storefront")
			see := rule("get list watch", "argoproj.io,apps,", "rollouts analysisruns experiments analysistemplates pods replicasets services events")
			grant(t, ns, "Group", "rollouts-users", see)
			grant(t, ns, "User", "jane@example.com", rule("patch update", "argoproj.io", "rollouts rollouts/status"))
			p := newProvider(t)
			if err := trust(p); err != nil {
				t.Fatal(err)
			}
			p.is("jane@example.com", "rollouts-users")

			// The Gateway, which serves HTTPS.
			gateway := httptest.NewUnstartedServer(nil)
			at := "https://" + gateway.Listener.Addr().String()
			gateway.Config.Handler = forward(start(t, proxied{p, at, startDashboard(t, ns, at)}), func(*http.Request) {})
			gateway.StartTLS()
			t.Cleanup(func() { gateway.CloseClientConnections(); gateway.Close() })

			jane := (&office{t: t, provider: p, web: gateway}).browser()
			path := "/rollouts/rollout/" + ns.Name + "/storefront"
			page := jane.until(path, "until someone promotes")
			if strings.Contains(page, "Log out") {
				t.Error("the dashboard offers to end a login that is the proxy's")
			}
			followed(t, jane, path)
			if status, page := jane.send("POST", path+"/promote", jane.form(path+"/promote"), nil); status != http.StatusOK || !strings.Contains(page, "promoted") {
				t.Fatalf("jane promotes: %d %s", status, page)
			}
			ns.WaitForRollout("storefront", "to be Healthy", playtest.Healthy)
			ns.WaitForEvents("storefront", "UserAction promoted by jane@example.com")
			logged(t, ns, "storefront", "patch", "jane@example.com", "")

			p.is("sam@example.com", "rollouts-users")
			sam := (&office{t: t, provider: p, web: gateway}).browser()
			sam.until(path, `aria-disabled="true"`)
			if status, page := sam.send("POST", path+"/pause", sam.form(path+"/pause"), nil); status != http.StatusBadGateway || !strings.Contains(page, "sam@example.com&#34; cannot patch") {
				t.Errorf("sam, who may only look, pauses: %d %s", status, page)
			}
		})
	}
}

// proxied is what a proxy stands between.
type proxied struct {
	*provider
	// at is where people reach it, and upstream the dashboard.
	at, upstream string
}

// startDashboard starts the program, and returns where it listens.
func startDashboard(t *testing.T, ns *playtest.Namespace, at string) string {
	t.Helper()
	ns.Apply(playtest.Root() + "/config/dashboard/rbac.yaml")
	addr := "127.0.0.1:" + strconv.Itoa(ns.FreePort())
	run(t, exec.CommandContext(t.Context(), playtest.Program("sluice-dashboard"),
		"--url="+at+"/rollouts", "--listen="+addr, "--allow-actions", "--kubeconfig="+ns.KubeconfigOf("argo-rollouts/argo-rollouts-dashboard")))
	return "http://" + addr
}

// run starts a program that ends with the test.
func run(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	cmd.Stdout, cmd.Stderr = t.Output(), t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }) // it has to go, however
}

// forward passes requests on as they are, with the host that people asked for, and what change adds. What is not reached yet is asked for again.
func forward(to *url.URL, change func(*http.Request)) http.Handler {
	return &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.Host = r.In.Host
		change(r.Out)
	}}
}

// startForwarder is a proxy that knows who is logged in, and says so with an ID token.
func startForwarder(t *testing.T, p proxied) *url.URL {
	t.Helper()
	dashboard, err := url.Parse(p.upstream)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(forward(dashboard, func(r *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		claims := map[string]any{"iss": p.server.URL, "aud": "dashboard", "iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix()}
		for name, value := range p.claims {
			claims[name] = value
		}
		r.Header.Set("Authorization", "Bearer "+p.signed(claims))
	}))
	t.Cleanup(func() { proxy.CloseClientConnections(); proxy.Close() })
	at, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// startOAuth2Proxy starts the program with the arguments of the example, in which only addresses, and who the client is, are others.
func startOAuth2Proxy(t *testing.T, p proxied) *url.URL {
	t.Helper()
	program, err := exec.LookPath("oauth2-proxy")
	if err != nil {
		if program, err = exec.LookPath(playtest.Program("oauth2-proxy")); err != nil {
			if os.Getenv("SLUICE_NO_SKIP") != "" {
				t.Fatalf("this test needs oauth2-proxy, and SLUICE_NO_SKIP forbids to skip it: %v", err)
			}
			t.Skip("not run: the dashboard behind a real oauth2-proxy: make oauth2-proxy builds it into bin/")
		}
	}
	folder := t.TempDir()
	ca := filepath.Join(folder, "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	listener := httptest.NewUnstartedServer(nil) // for its port
	addr := listener.Listener.Addr().String()
	listener.Close()
	args := exampleArguments(t)
	for flag, value := range map[string]string{
		"--http-address": addr, "--oidc-issuer-url": p.server.URL, "--client-id": "dashboard", "--redirect-url": p.at + "/oauth2/callback", "--upstream": p.upstream,
	} {
		i := slices.IndexFunc(args, func(a string) bool { return strings.HasPrefix(a, flag+"=") })
		if i < 0 {
			t.Fatalf("the example does not set %s: %q", flag, args)
		}
		args[i] = flag + "=" + value
	}
	cmd := exec.CommandContext(t.Context(), program, append(args, "--provider-ca-file="+ca)...)
	cmd.Env = append(os.Environ(), "OAUTH2_PROXY_CLIENT_SECRET=secret", "OAUTH2_PROXY_COOKIE_SECRET="+strings.Repeat("c", 32))
	run(t, cmd)
	return &url.URL{Scheme: "http", Host: addr}
}

// exampleArguments are those of the proxy's container.
func exampleArguments(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(playtest.Root() + "/examples/dashboard/oauth2-proxy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(text), "\n---\n")
	var d appsv1.Deployment
	if err := yaml.UnmarshalStrict([]byte(first), &d); err != nil {
		t.Fatal(err)
	}
	args := d.Spec.Template.Spec.Containers[0].Args
	for _, want := range []string{"--pass-authorization-header=true", "--pass-host-header=true", "--cookie-secure=true"} {
		if !slices.Contains(args, want) {
			t.Errorf("the example lacks %s", want)
		}
	}
	return args
}

// followed: pages are followed through the proxy, piece by piece.
func followed(t *testing.T, b *browser, path string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.o.web.URL+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "text/event-stream")
	w, err := b.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Body.Close() }()
	buffer, seen := make([]byte, 4096), ""
	for !strings.Contains(seen, "event: fragment") {
		n, err := w.Body.Read(buffer)
		seen += string(buffer[:n])
		if err != nil {
			t.Fatalf("the stream ends with %v after %q", err, seen)
		}
	}
}
