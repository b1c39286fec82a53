package browser_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/sluice-delivery/sluice/internal/dashboard/browser"
	"github.com/sluice-delivery/sluice/internal/playtest"
)

// Numbers are as the viewer's browser writes them, and times in the viewer's zone.
func TestNumbersAndTimesAreTheViewers(t *testing.T) {
	ctx := chromium(t)
	ns := playtest.New(t)
	ns.StartController()
	metrics := measured(t, "0.975")
	ns.Apply(manifest(t, fmt.Sprintf(`
apiVersion: argoproj.io/v1alpha1
kind: AnalysisTemplate
metadata: {name: rate}
spec: {metrics: [{name: rate, interval: 5s, successCondition: result >= 0.95, provider: {web: {url: %q, jsonPath: "{$.v}"}}}]}
`, metrics)))
	ns.CreateRollout(`
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: nginx, image: "nginx:1"}]}}
  strategy: {canary: {analysis: {templates: [{templateName: rate}]}, steps: [{setWeight: 50}, {pause: {duration: 1h}}]}}
`)
	ns.WaitForRollout("web", "to be Healthy", playtest.Healthy)
	ns.SetImage("web", "nginx:2")
	ns.WaitForRollout("web", "to pause", playtest.Paused)
	s := serve(t, ns, ns.Name)
	page := "http://" + s.addr + "/rollouts/rollout/" + ns.Name + "/web"
	do(ctx, t, "enter", chromedp.Navigate(s.link("")), shows("#link", "live"))
	for _, viewer := range []struct{ language, zone, number, time string }{
		{"de-DE", "Asia/Kolkata", "0,975", `\d\d:\d\d:\d\d`},
		{"en-US", "America/New_York", "0.975", `\d{1,2}:\d\d:\d\d\s[AP]M`},
	} {
		var exact, until, wanted string
		do(ctx, t, viewer.language, emulation.SetLocaleOverride().WithLocale(viewer.language), emulation.SetTimezoneOverride(viewer.zone),
			chromedp.Navigate(page), shows("#f-measurements .values", viewer.number), shows("#f-now", "until"),
			browser.Holds("the end of the pause is a time", `!!document.querySelector('#f-now time[data-clock]')`),
			chromedp.Evaluate(`document.querySelector('#f-now time[data-clock]').textContent`, &until),
			chromedp.Evaluate(`document.querySelector('#f-events time').title`, &exact),
			chromedp.Evaluate(`new Intl.DateTimeFormat(undefined, {dateStyle: 'medium', timeStyle: 'long'}).format(new Date(document.querySelector('#f-events time').dateTime))`, &wanted))
		if exact != wanted || exact == "" {
			t.Errorf("%s: the exact time is %q, not %q", viewer.language, exact, wanted)
		}
		if !regexp.MustCompile(viewer.time).MatchString(until) {
			t.Errorf("%s in %s: the pause ends at %q", viewer.language, viewer.zone, until)
		}
	}
}

// A list that changes moves nothing that the viewer looks at: the browser itself measures how far things move.
func TestNothingMovesWhenAListChanges(t *testing.T) {
	ctx := chromium(t)
	ns := playtest.New(t)
	ns.StartController()
	ns.CreateRollout(web)
	ns.WaitForRollout("web", "to be Healthy", playtest.Healthy)
	s := serve(t, ns, ns.Name)
	var moved float64
	do(ctx, t, "open the list", chromedp.Navigate(s.link("?sort=name")), shows("#link", "live"), shows("#f-rows", "Healthy"), chromedp.Evaluate(`
		window.moved = 0
		new PerformanceObserver(list => { for (const e of list.getEntries()) window.moved += e.value }).observe({type: 'layout-shift', buffered: false}); 0`, nil))
	ns.SetImage("web", "nginx:2")
	do(ctx, t, "watch it change", shows("#f-rows", "Progressing"), shows("#f-rows", "Paused"), shows("#f-rows", "25 %"), chromedp.Evaluate(`window.moved`, &moved))
	if moved > 0 {
		t.Errorf("things have moved by %v", moved)
	}
}

// Rows stay where one looks for them, although the server orders them by urgency, until the person asks for the order, or is not there.
func TestTheListIsSortedWhenAsked(t *testing.T) {
	ctx := chromium(t)
	ns := playtest.New(t)
	ns.StartController()
	for _, name := range []string{"api", "cart", "web"} {
		ns.CreateRollout(strings.ReplaceAll(web, "web", name))
		ns.WaitForRollout(name, "to be Healthy", playtest.Healthy)
	}
	s := serve(t, ns, ns.Name)
	ordered := func(names ...string) chromedp.Action {
		return browser.Holds(fmt.Sprintf("the order is %q", names), fmt.Sprintf(`[...document.querySelectorAll('#f-rows .name a')].map(a => a.textContent).join() === %q`, strings.Join(names, ",")))
	}
	offered := func(yes bool) chromedp.Action {
		return browser.Holds(fmt.Sprintf("sorting again is offered: %v", yes), fmt.Sprintf(`document.querySelector('#again').getClientRects().length > 0 === %v`, yes))
	}
	do(ctx, t, "open the list", chromedp.Navigate(s.link("")), shows("#link", "live"), ordered("api", "cart", "web"), offered(false))
	ns.SetImage("web", "nginx:2")
	do(ctx, t, "see it pause where it was", shows("#f-rows tr:last-child", "Paused"), ordered("api", "cart", "web"), offered(true))
	do(ctx, t, "ask for the order", chromedp.Click("#again", chromedp.ByQuery), ordered("web", "api", "cart"), offered(false))
	ns.SetImage("cart", "nginx:2")
	do(ctx, t, "see another one pause", shows("#f-rows tr:last-child", "Paused"), ordered("web", "api", "cart"), offered(true))
	do(ctx, t, "ask by a key", browser.Press("o"), ordered("cart", "web", "api"), offered(false))
	ns.CreateRollout(strings.ReplaceAll(web, "web", "about"))
	do(ctx, t, "see a new one last", ordered("cart", "web", "api", "about"), offered(true))
	do(ctx, t, "go away for a minute", chromedp.Evaluate(`performance.now = (now => () => now() + 61000)(performance.now.bind(performance)); 0`, nil), ordered("cart", "web", "about", "api"), offered(false))
}

// Each key that the page answers is in the list that ? opens, and each in the list is answered somewhere.
func TestKeysAreListed(t *testing.T) {
	ctx := chromium(t)
	ns := playtest.New(t)
	ns.StartController()
	ns.CreateRollout(web)
	ns.WaitForRollout("web", "to be Healthy", playtest.Healthy)
	ns.SetImage("web", "nginx:2")
	ns.WaitForRollout("web", "to pause", playtest.Paused)
	s := serve(t, ns, ns.Name)
	var listed, answered []string
	do(ctx, t, "open the list of keys", chromedp.Navigate(s.link("rollout/"+ns.Name+"/web")), shows("#link", "live"),
		chromedp.WaitVisible(".actions a[data-key=z]", chromedp.ByQuery), browser.Press("?"),
		chromedp.WaitVisible("#help[open]", chromedp.ByQuery),
		chromedp.Evaluate(`[...document.querySelectorAll('#help kbd')].map(k => k.textContent)`, &listed),
		chromedp.Evaluate(`[...document.querySelectorAll('[data-key]')].map(a => a.dataset.key)`, &answered))
	for _, key := range append(answered, "?", "/", "j", "k", "u", "Enter", "Esc", "r") { // r is for what was aborted
		if !slices.Contains(listed, key) {
			t.Errorf("%q is not in the list of keys %q", key, listed)
		}
	}
	if len(answered) < 8 {
		t.Errorf("a rollout that is paused answers %q", answered)
	}
	do(ctx, t, "close it, search, and go back", browser.Press("\x1b"), browser.Holds("the list of keys is closed", `!document.querySelector('#help[open]')`),
		browser.Press("u"), shows("#f-rows", "web"), browser.Press("/"), browser.Holds("the search has the focus", `document.activeElement.id === 'search'`))
}
