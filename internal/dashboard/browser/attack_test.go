package browser_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/sluice-delivery/sluice/internal/dashboard"
	"github.com/sluice-delivery/sluice/internal/playtest"
)

// evil is a page of another site that tries what a page can: it sends a form, reads, follows the stream, shows the dashboard in a frame, and loads
// its script. What comes of it is in the page's title.
const evil = `<!DOCTYPE html><title>begun</title>
<iframe name="sink"></iframe><iframe id="frame" src="TARGET/rollouts/rollout/NS/web"></iframe>
<form id="form" method="post" target="sink" action="TARGET/rollouts/rollout/NS/web/pause"><input name="csrf" value="guess"><input name="seen" value="guess"></form>
<script>
document.getElementById('form').submit()
const tried = []
const attempt = (name, p) => p.then(() => tried.push(name + ' worked'), () => tried.push(name + ' failed'))
Promise.all([
  attempt('read', fetch('TARGET/rollouts/', {credentials: 'include'}).then(r => r.text())),
  attempt('post', fetch('TARGET/rollouts/rollout/NS/web/pause', {method: 'POST', credentials: 'include', headers: {'Content-Type': 'application/json'}, body: '{}'})),
  attempt('put', fetch('TARGET/rollouts/api/v1/rollouts/NS/web/abort', {method: 'PUT', credentials: 'include', body: '{}'})),
  attempt('follow', new Promise((ok, no) => { const s = new EventSource('TARGET/rollouts/', {withCredentials: true}); s.onmessage = s.onopen = ok; s.onerror = no })),
  attempt('badge', new Promise((ok, no) => { const i = new Image(); i.onload = ok; i.onerror = no; i.src = 'TARGET/rollouts/badge/NS/web' })),
  attempt('script', new Promise((ok, no) => { const s = document.createElement('script'); s.onload = ok; s.onerror = no; s.src = 'TARGET/rollouts/static/app.js'; document.head.append(s) })),
  fetch('TARGET/rollouts/rollout/NS/web/pause', {method: 'POST', mode: 'no-cors', credentials: 'include', body: new URLSearchParams({csrf: 'guess', seen: 'guess'})}).catch(() => 0),
]).then(() => { document.title = tried.sort().join(', ') })
</script>`

// Pages of other sites, one on another port of this machine and one of another name, get nothing from a dashboard that is open in the same browser,
// and change nothing.
func TestAttacksOfOtherSites(t *testing.T) {
	ctx := chromium(t, chromedp.Flag("host-resolver-rules", "MAP evil.example 127.0.0.1"))
	ns := playtest.New(t)
	ns.StartController()
	ns.CreateRollout(web)
	ns.WaitForRollout("web", "to be Healthy", playtest.Healthy)
	s := serve(t, ns, ns.Name)
	do(ctx, t, "open the dashboard", chromedp.Navigate(s.link("")), shows("#link", "live"), shows("#f-rows", "web"))
	before := ns.Rollout("web")
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprint(w, strings.NewReplacer("TARGET", "http://"+s.addr, "NS", ns.Name).Replace(evil)) // a browser that is gone needs nothing
	}))
	t.Cleanup(site.Close)
	_, port, _ := net.SplitHostPort(site.Listener.Addr().String())
	for name, address := range map[string]string{"another port": site.URL, "another name": "http://evil.example:" + port, "localhost": "http://localhost:" + port} {
		var title, framed string
		do(ctx, t, name, chromedp.Navigate(address), titled("failed"), chromedp.Title(&title))
		if title != "badge failed, follow failed, post failed, put failed, read failed, script failed" {
			t.Errorf("%s: %s", name, title)
		}
		do(ctx, t, name, chromedp.Evaluate(`(() => { try { return document.getElementById('frame').contentDocument?.body?.innerText || '' } catch (e) { return 'of another origin' } })()`, &framed))
		if strings.Contains(framed, "web") {
			t.Errorf("%s: the frame shows %q", name, framed)
		}
	}
	// A name of the attacker's that comes to mean this machine would be of the same origin as the dashboard.
	_, port, _ = net.SplitHostPort(s.addr)
	do(ctx, t, "rebind a name", chromedp.Navigate("http://evil.example:"+port+"/rollouts/"), shows("body", "does not answer to the host"))
	if after := ns.Rollout("web"); after.Spec.Paused || after.Status.Abort || after.Generation != before.Generation {
		t.Error("another site has changed the rollout")
	}
	do(ctx, t, "go on", chromedp.Navigate("http://"+s.addr+"/rollouts/"), shows("#link", "live"), shows("#f-rows", "web"))
}

// A tile is shown in the frames of the sites that were named, and of no others; nothing else is shown in any frame.
func TestFrames(t *testing.T) {
	ctx := chromium(t)
	ns := playtest.New(t)
	ns.CreateRollout(web)
	portal, other := newPortal(t), newPortal(t)
	s := serve(t, ns, ns.Name, func(o *dashboard.Options) { o.Frames = []string{portal.URL} })
	do(ctx, t, "open the dashboard", chromedp.Navigate(s.link("")), shows("#f-rows", "web"))
	for name, test := range map[string]struct {
		of   *httptest.Server
		path string
		want string
	}{
		"the tile in the portal":   {portal, "tile/" + ns.Name + "/web", "shown"},
		"a page in the portal":     {portal, "rollout/" + ns.Name + "/web", "refused"},
		"the tile on another site": {other, "tile/" + ns.Name + "/web", "refused"},
	} {
		do(ctx, t, name, chromedp.Navigate(test.of.URL+"/?http://"+s.addr+"/rollouts/"+test.path), titled("loaded"))
		if got := framed(ctx, t, s.addr); got != test.want {
			t.Errorf("%s is %s", name, got)
		}
	}
}

// newPortal is a site whose page shows in a frame what its query names.
func newPortal(t *testing.T) *httptest.Server {
	t.Helper()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprintf(w, `<!DOCTYPE html><title>begun</title><iframe src="%s" onload="document.title = 'loaded'"></iframe>`, r.URL.RawQuery) // a browser that is gone needs nothing
	}))
	t.Cleanup(site.Close)
	return site
}

// measured is the address of a provider that always answers the same value.
func measured(t *testing.T, value string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `{"v": %s}`, value) // the controller asks again
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// manifest is a file with objects.
func manifest(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "objects.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
