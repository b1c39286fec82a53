package browser_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/dashboard/browser"
	"github.com/sluice-delivery/sluice/internal/playtest"
)

// still is how far things may move on a page, all shifts together. Web Vitals call a page good whose worst five seconds stay below it.
const still = 0.1

// observer sums up what the browser's own metric says from the first paint on, and keeps what moved.
const observer = `window.moved = 0; window.movers = []
new PerformanceObserver(list => {
	for (const e of list.getEntries()) if (!e.hadRecentInput) {
		window.moved += e.value
		const name = n => { for (n = n && (n.nodeType === 1 ? n : n.parentElement); n; n = n.parentElement) if (n.id) return n.id; return '?' }
		const what = s => (s.node?.nodeName || '?') + ' ' + (s.node?.className?.baseVal ?? s.node?.className ?? '') + ' in ' + name(s.node) + ' from ' + [s.previousRect.x, s.previousRect.y].map(Math.round) + ' to ' + [s.currentRect.x, s.currentRect.y].map(Math.round) + ' ' + (s.node?.textContent || '').trim().slice(0, 30)
		window.movers.push(e.value.toFixed(4) + ': ' + e.sources.map(what).join('; '))
	}
}).observe({type: 'layout-shift', buffered: true})`

// watched is a page in a tab of its own, that counts how far things move on it.
type watched struct {
	t    *testing.T
	name string
	ctx  context.Context
}

func (s *served) watch(browser context.Context, name, path string, width, height int64, ready ...chromedp.Action) watched {
	s.t.Helper()
	ctx, cancel := chromedp.NewContext(browser)
	s.t.Cleanup(cancel)
	w := watched{s.t, name, ctx}
	do(ctx, s.t, "open "+name, chromedp.EmulateViewport(width, height), chromedp.ActionFunc(func(ctx context.Context) error {
		_, err := page.AddScriptToEvaluateOnNewDocument(observer).Do(ctx)
		return err
	}), emulation.SetFocusEmulationEnabled(true), chromedp.Navigate("http://"+s.addr+"/rollouts/"+path), shows("#link", "live"))
	do(ctx, s.t, "open "+name, ready...)
	return w
}

// see waits until the page shows these.
func (w watched) see(what string, actions ...chromedp.Action) {
	w.t.Helper()
	do(w.ctx, w.t, w.name+": "+what, actions...)
}

// judge ends the test if things have moved too far, and if the browser would not have noticed.
func (w watched) judge() {
	w.t.Helper()
	var moved, pushed float64
	var movers []string
	w.see("ask how far things moved", chromedp.Evaluate(`window.moved`, &moved), chromedp.Evaluate(`window.movers`, &movers))
	w.t.Logf("%s: things moved by %.4f", w.name, moved)
	if moved >= still {
		slices.Sort(movers)
		w.t.Errorf("%s: things moved by %.3f:\n%s", w.name, moved, strings.Join(movers, "\n"))
	}
	w.see("notice what is pushed down", chromedp.Evaluate(`(() => { scrollTo(0, 0); const d = document.createElement('div'); d.style.height = '300px'; document.querySelector('main').prepend(d) })(); 0`, nil),
		browser.Holds("the browser notices", fmt.Sprintf("window.moved > %v", moved)), chromedp.Evaluate(`window.moved`, &pushed))
	if pushed-moved < still {
		w.t.Errorf("%s: a page that was pushed down by 300 pixels counts %.3f, so this test would see nothing", w.name, pushed-moved)
	}
}

// buttons are where each action's button is.
func (w watched) buttons() (places string) {
	w.t.Helper()
	w.see("find the buttons", chromedp.Evaluate(`JSON.stringify([...document.querySelectorAll('.actions .button')].map(b => [b.id, ...(r => [r.x, r.y, r.width])(b.getBoundingClientRect())]))`, &places))
	return places
}

// sameButtons: nobody hits another button because something has happened meanwhile.
func (w watched) sameButtons(before string) {
	w.t.Helper()
	if now := w.buttons(); now != before || len(before) < 100 {
		w.t.Errorf("%s: the buttons were at\n%s and are at\n%s", w.name, before, now)
	}
}

const measuring = `
apiVersion: argoproj.io/v1alpha1
kind: AnalysisTemplate
metadata: {name: rate}
spec: {metrics: [{name: rate, interval: 1s, count: 4, successCondition: result >= 0.95, provider: {web: {url: %[1]q, jsonPath: "{$.v}"}}}]}
---
apiVersion: argoproj.io/v1alpha1
kind: AnalysisTemplate
metadata: {name: steady}
spec: {metrics: [{name: steady, interval: 1s, successCondition: result >= 0.95, provider: {web: {url: %[1]q, jsonPath: "{$.v}"}}}]}
---
apiVersion: argoproj.io/v1alpha1
kind: AnalysisRun
metadata: {name: nightly}
spec: {metrics: [
  {name: rate, interval: 1s, count: 7, successCondition: result >= 0.95, provider: {web: {url: %[1]q, jsonPath: "{$.v}"}}},
  {name: errors, interval: 1s, count: 5, failureLimit: 2, successCondition: result < 0.95, provider: {web: {url: %[1]q, jsonPath: "{$.v}"}}}]}
---
apiVersion: argoproj.io/v1alpha1
kind: Experiment
metadata: {name: trial}
spec:
  templates:
    - {name: old, replicas: 2, selector: {matchLabels: {app: old}}, template: {metadata: {labels: {app: old}}, spec: {containers: [{name: nginx, image: "nginx:1"}]}}}
    - {name: new, replicas: 2, selector: {matchLabels: {app: new}}, template: {metadata: {labels: {app: new}}, spec: {containers: [{name: nginx, image: "nginx:2"}]}}}
  analyses: [{name: rate, templateName: rate, requiredForCompletion: true}]
`

// A page that someone looks at stays where it is while a real update goes on and is aborted: the browser itself measures how far things move, on
// a laptop and on a phone, on each kind of page.
func TestNothingMovesDuringAnUpdate(t *testing.T) {
	for name, size := range map[string][2]int64{"laptop": {1280, 900}, "phone": {390, 844}} {
		t.Run(name, func(t *testing.T) {
			ctx := chromium(t)
			ns := playtest.New(t)
			ns.Apply(manifest(t, fmt.Sprintf(measuring, measured(t, "0.975"))))
			s := serve(t, ns, ns.Name)
			do(ctx, t, "enter", chromedp.Navigate(s.link("")), shows("#link", "live"))
			run := s.watch(ctx, "an analysis run", "analysisrun/"+ns.Name+"/nightly", size[0], size[1], shows("#f-run", "errors"))
			trial := s.watch(ctx, "an experiment", "experiment/"+ns.Name+"/trial", size[0], size[1], shows("#f-run", "Measurements"))
			ns.StartController()
			run.see("the end", shows("#f-run .pill", "Failed"))
			trial.see("pods", shows("#f-run", "trial-new"), shows("#f-run", "2/2"))
			trial.see("the end", shows("#f-run .pill", "Successful"), shows("#f-run", "0/0"))
			run.judge()
			trial.judge()

			others := []string{"api", "cart", "mail", "search"}
			for _, name := range others {
				ns.CreateRollout(fmt.Sprintf(release, name, `{canary: {}}`))
			}
			ns.CreateRollout(fmt.Sprintf(release, "web", `{canary: {analysis: {templates: [{templateName: steady}]}, steps: [{setWeight: 25}, {pause: {}}, {analysis: {templates: [{templateName: rate}]}}, {setWeight: 75}, {pause: {}}]}}`))
			for _, name := range append(others, "web") {
				ns.WaitForRollout(name, "to be Healthy", playtest.Healthy)
			}
			list := s.watch(ctx, "the list", "", size[0], size[1], shows("#f-rows", "search"))
			web := s.watch(ctx, "a rollout", "rollout/"+ns.Name+"/web", size[0], size[1], shows("#f-now", "not waiting for anything"))
			places := web.buttons()
			promote := func() { ns.PatchStatus("web", `{"status":{"pauseConditions":null}}`) }
			ns.SetImage("web", "nginx:2")
			list.see("the pause", shows("#f-rows", "Paused"))
			web.see("the pause", shows("#f-head", "Paused"), shows("#f-now", "until someone promotes it"), shows("#f-measurements", "steady"))
			web.sameButtons(places)
			promote()
			web.see("the measurements", shows("#f-measurements", "rate"), shows("#f-steps .Current", "analysis"))
			ns.WaitForRollout("web", "to pause again", playtest.AtStep(4))
			web.see("the second pause", shows("#f-head", "Paused"), shows("#f-now", "step 5 of 5"))
			promote()
			ns.WaitForRollout("web", "to be Healthy", playtest.Healthy)
			web.see("the end", shows("#f-head", "Healthy"), shows("#f-now", "not waiting for anything"))
			ns.SetImage("web", "nginx:3")
			ns.WaitForRollout("web", "to pause", playtest.AtStep(1))
			web.see("the next update", shows("#f-head", "Paused"), shows("#f-now", "until someone promotes it"))
			ns.PatchStatus("web", `{"status":{"abort":true}}`)
			ns.WaitForRollout("web", "to be Degraded and back", func(ro *v1alpha1.Rollout) bool { return playtest.Degraded(ro) && ro.Status.UpdatedReplicas == 0 })
			web.see("the abort", shows("#f-head", "Degraded"), shows("#f-now", "Degraded"), shows("#f-events", "RolloutAborted"))
			web.sameButtons(places)
			list.see("the abort", shows("#f-rows", "Degraded"))
			list.judge()
			web.judge()
		})
	}
}

const release = `
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: %[1]s}
spec:
  replicas: 4
  selector: {matchLabels: {app: %[1]s}}
  template: {metadata: {labels: {app: %[1]s}}, spec: {containers: [{name: nginx, image: "nginx:1"}]}}
  strategy: %[2]s
`
