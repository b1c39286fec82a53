package browser_test

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/clock"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/cli/live"
	"github.com/sluice-delivery/sluice/internal/dashboard"
	"github.com/sluice-delivery/sluice/internal/dashboard/browser"
	"github.com/sluice-delivery/sluice/internal/playtest"
)

func TestMain(m *testing.M) { playtest.Main(m) }

const web = `
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: web}
spec:
  replicas: 4
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: nginx, image: "nginx:1"}]
  strategy:
    canary: {steps: [{setWeight: 25}, {pause: {}}, {setWeight: 50}, {pause: {}}]}
`

var (
	chromium = browser.Chromium
	do       = browser.Do
	shows    = browser.Shows
	confirm  = browser.Confirm
)

// served is a dashboard whose connections can be cut.
type served struct {
	t       *testing.T
	options dashboard.Options
	server  *dashboard.Server
	close   context.CancelFunc
	addr    string
	http    *http.Server
	token   string
}

func serve(t *testing.T, ns *playtest.Namespace, namespace string, change ...func(*dashboard.Options)) *served {
	t.Helper()
	client, err := dynamic.NewForConfig(ns.Config)
	if err != nil {
		t.Fatal(err)
	}
	s := &served{t: t, addr: "127.0.0.1:0", options: dashboard.Options{
		Clock: clock.RealClock{}, Client: live.Client{Interface: client, Namespace: namespace}, Cluster: "playground", Root: "rollouts",
	}}
	for _, c := range change {
		c(&s.options)
	}
	listener := s.listen()
	s.addr = listener.Addr().String()
	s.open()
	s.start(listener)
	t.Cleanup(func() { s.cut(); s.close() })
	return s
}

// open begins a process's worth of dashboard: nothing of an earlier one is known to it.
func (s *served) open() {
	_, port, _ := net.SplitHostPort(s.addr)
	s.options.Hosts, s.options.Invited = dashboard.Loopback(port), func(token string) { s.token = token }
	s.server = dashboard.New(s.options)
	ctx, cancel := context.WithCancel(s.t.Context())
	s.close = cancel
	go s.server.Run(ctx)
}

// restart ends the dashboard and begins another one at the same address.
func (s *served) restart(meanwhile func()) {
	s.cut()
	s.close()
	meanwhile()
	s.open()
	s.start(s.listen())
}

func (s *served) listen() net.Listener {
	s.t.Helper()
	listener, err := net.Listen("tcp", s.addr)
	if err != nil {
		s.t.Fatal(err)
	}
	return listener
}

func (s *served) start(listener net.Listener) {
	s.http = &http.Server{Handler: s.server.Handler(), ReadHeaderTimeout: time.Minute}
	go func(server *http.Server) { _ = server.Serve(listener) }(s.http) // ends when it is cut
}

// cut closes all connections, the open ones too.
func (s *served) cut() { _ = s.http.Close() }

func (s *served) link(path string) string {
	return "http://" + s.addr + "/rollouts/login?token=" + s.token + "&next=/rollouts/" + path
}

// A release as a person sees it: from the new image to the last pod, by clicks and keys, on one page that nobody reloads but the forms.
func TestAReleaseByHand(t *testing.T) {
	ctx := chromium(t)
	ns := playtest.New(t)
	ns.StartController()
	ns.CreateRollout(web)
	ns.WaitForRollout("web", "to be Healthy", playtest.Healthy)
	s := serve(t, ns, ns.Name)

	do(ctx, t, "open the list", chromedp.Navigate(s.link("")), shows("#f-rows", "web"), shows("#f-rows", "Healthy"), shows("#link", "live"))
	do(ctx, t, "open the rollout by keys", browser.Press("j"), browser.Press("\r"), shows("h1", "web"), shows("#link", "live"), shows("#f-now", "It is not waiting for anything"))

	do(ctx, t, "set the image", browser.Press("i"), chromedp.WaitVisible("#ask[open] input[name=image-nginx]", chromedp.ByQuery),
		chromedp.SetValue("#ask[open] input[name=image-nginx]", "nginx:2", chromedp.ByQuery), confirm(), shows("#ask", "nginx from nginx:1 to nginx:2"),
		shows("#ask", "with 1 pod: 25 % of 4 is 1"), confirm(), shows(".flash", "has new images"))
	if image := ns.Rollout("web").Spec.Template.Spec.Containers[0].Image; image != "nginx:2" {
		t.Errorf("image %s", image)
	}
	do(ctx, t, "watch it pause", shows("#f-head", "Paused"), shows("#f-head", "25 %"), shows("#f-steps .Current", "pause"), shows("#f-now", "until someone promotes it"),
		shows("#f-revisions", "nginx:2"), chromedp.WaitVisible("#f-weights .chart", chromedp.ByQuery),
		shows("#f-ahead", "After someone promotes"), shows("#f-ahead", "step 4 of 4, weight 50 %, Paused"), shows("#f-ahead", "The update then ends: promoted"))

	do(ctx, t, "promote", chromedp.Click(`a[data-key="p"]`, chromedp.ByQuery), shows("#ask", "The engine would now:"), confirm(), shows(".flash", "promoted"))
	do(ctx, t, "watch the second pause", shows("#f-head", "50 %"), shows("#f-head", "Paused"), shows("#f-steps", "3 of 4 done"))

	do(ctx, t, "abort", browser.Press("a"), confirm(), shows(".flash", "aborted"), shows("#f-head", "Degraded"))
	if !ns.Rollout("web").Status.Abort {
		t.Error("not aborted")
	}
	do(ctx, t, "retry, skip a step, and promote in full", browser.Press("r"), confirm(), shows("#f-head", "Paused"), shows("#f-steps", "1 of 4 done"),
		browser.Press("s"), shows("#ask", "Skip step: web"), shows("#ask", "scale web-"), confirm(), shows(".flash", "promoted"), shows("#f-steps", "3 of 4 done"), shows("#f-head", "Paused"),
		browser.Press("F"), confirm(), shows(".flash", "promoted"), shows("#f-head", "Healthy"), shows("#f-steps", "4 of 4 done"))
	ns.WaitForRollout("web", "to be Healthy", playtest.Healthy)

	do(ctx, t, "pause and resume", browser.Press("h"), confirm(), shows(".flash", "paused"))
	if !ns.Rollout("web").Spec.Paused {
		t.Error("not paused")
	}
	do(ctx, t, "resume", shows(".actions", "Resume"), browser.Press("h"), confirm(), shows(".flash", "resumed"))
	do(ctx, t, "undo", shows(".actions", "Pause"), shows("#f-revisions", "nginx:1"), browser.Press("z"), shows("#ask", "nginx from nginx:2 to nginx:1"), confirm(), shows(".flash", "undone to revision 1"))
	ns.WaitForRollout("web", "to have its first image", func(ro *v1alpha1.Rollout) bool { return ro.Spec.Template.Spec.Containers[0].Image == "nginx:1" })
	do(ctx, t, "restart", shows("#f-head", "Paused"), shows("#f-steps", "1 of 4 done"), shows("#f-events", "update to revision 3"), browser.Press("R"), shows("#ask", "restart"), confirm(), shows(".flash", "restarts"))
	if ns.Rollout("web").Spec.RestartAt == nil {
		t.Error("not restarted")
	}
}

// The connection is lost, something happens, and the page has it when the connection is back, without being loaded again. What a person has
// typed meanwhile stays.
func TestAConnectionThatComesBack(t *testing.T) {
	ctx := chromium(t)
	ns := playtest.New(t)
	ns.StartController()
	ns.CreateRollout(web)
	ns.WaitForRollout("web", "to be Healthy", playtest.Healthy)
	s := serve(t, ns, ns.Name)
	do(ctx, t, "open the list", chromedp.Navigate(s.link("")), shows("#link", "live"), shows("#f-rows", "Healthy"),
		chromedp.Evaluate(`window.same = true`, nil), chromedp.SendKeys("#search", "we", chromedp.ByQuery))
	s.cut()
	do(ctx, t, "notice that it is lost", shows("#link", "connection lost"))
	ns.SetImage("web", "nginx:2")
	ns.WaitForRollout("web", "to pause", playtest.Paused)
	s.start(s.listen())
	var same bool
	var typed string
	do(ctx, t, "see it when it is back", shows("#link", "live"), shows("#f-rows", "Paused"), chromedp.Evaluate(`window.same === true`, &same), chromedp.Value("#search", &typed, chromedp.ByQuery))
	if !same || typed != "we" {
		t.Errorf("loaded again: %v, typed: %q", !same, typed)
	}
}

// The dashboard is restarted while a page is open. The page says so, and its link lets the browser in again; a click on what the old page offers
// changes nothing.
func TestARestartWhileAPageIsOpen(t *testing.T) {
	ctx := chromium(t)
	ns := playtest.New(t)
	ns.StartController()
	ns.CreateRollout(web)
	ns.WaitForRollout("web", "to be Healthy", playtest.Healthy)
	s := serve(t, ns, ns.Name)
	page := "rollout/" + ns.Name + "/web"
	do(ctx, t, "open, and be asked", chromedp.Navigate(s.link(page)), shows("#link", "live"), browser.Press("h"), shows("#ask", "Pause: web"))
	s.restart(func() {
		do(ctx, t, "notice that it is gone", shows("#link", "connection lost"))
	})
	do(ctx, t, "be told what to do", shows("#link", "the dashboard was restarted: open the link that it printed"),
		chromedp.Click("#ask[open] button.main", chromedp.ByQuery), shows(".problem", "has not been let in"))
	if ns.Rollout("web").Spec.Paused {
		t.Error("a form of the old process has paused the rollout")
	}
	do(ctx, t, "open the new link, and act", chromedp.Navigate(s.link(page)), shows("#link", "live"), browser.Press("h"), confirm(), shows(".flash", "paused"))
	if !ns.Rollout("web").Spec.Paused {
		t.Error("not paused")
	}
}

// Two browsers with a link each see the same, and one sees what the other does.
func TestTwoViewers(t *testing.T) {
	one := chromium(t)
	two := chromium(t)
	ns := playtest.New(t)
	ns.StartController()
	ns.CreateRollout(web)
	ns.WaitForRollout("web", "to be Healthy", playtest.Healthy)
	s := serve(t, ns, ns.Name)
	do(one, t, "open", chromedp.Navigate(s.link("rollout/"+ns.Name+"/web")), shows("#link", "live"))
	do(two, t, "open", chromedp.Navigate(s.link("rollout/"+ns.Name+"/web")), shows("#link", "live"), shows(".actions", "Pause"))
	do(one, t, "pause", browser.Press("h"), confirm(), shows(".flash", "paused"))
	do(two, t, "see it", shows(".actions", "Resume"), browser.Press("h"), confirm(), shows(".flash", "resumed"))
	do(one, t, "see that", shows(".actions", "Pause"))
}

// Everything works without JavaScript.
func TestWithoutJavaScript(t *testing.T) {
	ns := playtest.New(t)
	ns.StartController()
	ns.CreateRollout(web)
	ns.WaitForRollout("web", "to be Healthy", playtest.Healthy)
	ctx := chromium(t, chromedp.Flag("blink-settings", "scriptEnabled=false"))
	s := serve(t, ns, ns.Name)
	do(ctx, t, "open the rollout", chromedp.Navigate(s.link("rollout/"+ns.Name+"/web")), chromedp.WaitVisible(`a[data-key="h"]`, chromedp.ByQuery))
	do(ctx, t, "pause it", chromedp.Click(`a[data-key="h"]`, chromedp.ByQuery), chromedp.WaitVisible("#question", chromedp.ByQuery),
		chromedp.Click("#question button.main", chromedp.ByQuery), chromedp.WaitVisible(".flash", chromedp.ByQuery))
	if !ns.Rollout("web").Spec.Paused {
		t.Error("not paused")
	}
}

// The content policy holds in the browser: nothing is inline, and nothing is refused that the pages need.
func TestTheBrowserRefusesNothing(t *testing.T) {
	ctx := chromium(t)
	ns := playtest.New(t)
	ns.CreateRollout(strings.Replace(web, "nginx:1", "nginx:1'><img src=x onerror=alert(1)>", 1))
	s := serve(t, ns, ns.Name)
	console := newConsole(ctx)
	do(ctx, t, "open the pages", chromedp.Navigate(s.link("")), shows("#link", "live"), shows("#f-rows", "web"),
		chromedp.Navigate("http://"+s.addr+"/rollouts/rollout/"+ns.Name+"/web"), shows("#link", "live"), shows("h1", "web"),
		browser.Press("i"), chromedp.WaitVisible("#ask[open] input[name=image-nginx]", chromedp.ByQuery))
	if said := console.said(); len(said) > 0 {
		t.Errorf("the console says: %q", said)
	}
}
