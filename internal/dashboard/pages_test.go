package dashboard

import (
	"net/http"
	"strings"
	"testing"
)

func TestPages(t *testing.T) {
	d := newDesk(t, nil, paused).enter()
	list := d.send("GET", "/rollouts/", "", nil)
	contains(t, list.Body.String(), `href="/rollouts/rollout/shop/web"`, "Paused", "CanaryPauseStep", "1 rollout")
	d.wait("the pod", func() bool {
		return strings.Contains(d.send("GET", "/rollouts/rollout/shop/web", "", nil).Body.String(), "web-b-1")
	})
	d.wait("the explanation", func() bool {
		return strings.Contains(d.send("GET", "/rollouts/rollout/shop/web", "", nil).Body.String(), "The canary &#39;web&#39; is Paused")
	})
	page := d.send("GET", "/rollouts/rollout/shop/web", "", nil).Body.String()
	contains(t, page, "What comes next", "After someone promotes", "after 42s", "step 2 of 2 is done: pause", "The update then ends: promoted", "pods become ready 42s after their start", "ImagePullBackOff", "no such image", "until someone promotes", "Undo to revision 1", "nginx:2", "As soon as someone promotes")
	if strings.Contains(page, "hunter2") {
		t.Error("the page shows the environment of a pod")
	}
	for path, want := range map[string]int{
		"/rollouts/rollout/shop/none": 404, "/rollouts/?label=%20=": 400, "/rollouts/?page=x": 400, "/rollouts/rollout/shop/web/sell": 404, "/rollouts/nothing/here/at/all": 404,
	} {
		if got := d.send("GET", path, "", nil).Code; got != want {
			t.Errorf("%s: %d, want %d", path, got, want)
		}
	}
	if w := d.send("GET", "/", "", nil); w.Header().Get("Location") != "/rollouts/" {
		t.Errorf("/ leads to %q", w.Header().Get("Location"))
	}
	if w := d.send("GET", "/rollouts/shop", "", nil); w.Header().Get("Location") != "/rollouts/?namespace=shop" {
		t.Errorf("a namespace leads to %q", w.Header().Get("Location"))
	}
}

// While pods do not start nobody knows when an update goes on.
func TestAnOutlookWithPodsThatDoNotStart(t *testing.T) {
	begun := strings.NewReplacer("currentStepIndex: 1, phase: Paused, message: CanaryPauseStep, controllerPause: true,", "currentStepIndex: 0, phase: Progressing,",
		`, pauseConditions: [{reason: CanaryPauseStep, startTime: "2026-01-01T00:00:00Z"}]`, "").Replace(paused)
	const available, none = "status: {replicas: 1, availableReplicas: 1}", "status: {replicas: 1}"
	sets, pods, _ := strings.Cut(begun, "kind: Pod")
	i := strings.LastIndex(sets, available)
	begun = sets[:i] + none + sets[i+len(available):] + "kind: Pod" + pods
	d := newDesk(t, nil, begun).enter()
	d.wait("the outlook", func() bool {
		return strings.Contains(d.send("GET", "/rollouts/rollout/shop/web", "", nil).Body.String(), "After someone fixes the pods that do not start")
	})
}

// judged is an analysis of the paused canary's, and an Experiment of it.
const judged = `
apiVersion: argoproj.io/v1alpha1
kind: AnalysisRun
metadata: {name: web-b-1-1, namespace: shop, uid: run, ownerReferences: [{apiVersion: argoproj.io/v1alpha1, kind: Rollout, name: web, uid: web, controller: true}]}
spec: {metrics: [{name: errors, successCondition: result < 0.05, provider: {web: {url: "http://metrics/{{args.version}}", jsonPath: "{$.rate}"}}}]}
status: {phase: Running, metricResults: [{name: errors, phase: Running, successful: 6, count: 7, measurements: [
  {phase: Successful, value: "0.01", metadata: {asked: "GET http://metrics/b"}}, {phase: Successful, value: "0.02"}, {phase: Successful, value: "0.03"},
  {phase: Successful, value: "0.04"}, {phase: Successful, value: "0.041"}, {phase: Successful, value: "0.042"}, {phase: Failed, value: "0.9", message: "<b>too many</b>"}]}]}
---
apiVersion: argoproj.io/v1alpha1
kind: Experiment
metadata: {name: web-trial, namespace: shop, uid: exp, ownerReferences: [{apiVersion: argoproj.io/v1alpha1, kind: Rollout, name: web, uid: web, controller: true}]}
spec: {duration: 5m, templates: [{name: trial, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: nginx, image: "nginx:3"}]}}}]}
status: {phase: Running}
---
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: web-trial-trial, namespace: shop, uid: rse, labels: {rollouts-pod-template-hash: c, app: web}, annotations: {experiment.argoproj.io/template-name: trial}, ownerReferences: [{apiVersion: argoproj.io/v1alpha1, kind: Experiment, name: web-trial, uid: exp, controller: true}]}
spec: {replicas: 1, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web, rollouts-pod-template-hash: c}}, spec: {containers: [{name: nginx, image: "nginx:3"}]}}}
status: {replicas: 1, availableReplicas: 1}
`

func TestAnalysisRunsAndExperimentsHavePages(t *testing.T) {
	d := newDesk(t, nil, paused, judged).enter()
	get := func(path string) string { return d.send("GET", "/rollouts/"+path, "", nil).Body.String() }
	d.wait("the run", func() bool { return strings.Contains(get("analysisrun/shop/web-b-1-1"), "web-b-1-1</h1>") })
	contains(t, get("analysisrun/shop/web-b-1-1"), `href="/rollouts/rollout/shop/web"`, `<data value="0.01">`, "GET http://metrics/b", "&lt;b&gt;too many", "result &lt; 0.05", `class="chart metric"`)
	d.wait("the experiment", func() bool { return strings.Contains(get("experiment/shop/web-trial"), "nginx:3") })
	contains(t, get("experiment/shop/web-trial"), "web-trial</h1>", `href="/rollouts/rollout/shop/web"`, "trial")
	d.wait("links", func() bool {
		return strings.Contains(get("rollout/shop/web"), `href="/rollouts/analysisrun/shop/web-b-1-1"`)
	})
	for _, path := range []string{"analysisrun/shop/none", "experiment/shop/none", "analysisrun/other/web-b-1-1"} {
		if w := d.send("GET", "/rollouts/"+path, "", nil); w.Code != http.StatusNotFound {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}

func TestRevisionsAreCompared(t *testing.T) {
	d := newDesk(t, nil, paused).enter()
	contains(t, d.send("GET", "/rollouts/rollout/shop/web/diff?from=1&to=2", "", nil).Body.String(),
		`<span class="del">-  - image: nginx:1</span>`, `<span class="add">&#43;  - image: nginx:2</span>`, `<option value="2" selected>`)
	contains(t, d.send("GET", "/rollouts/rollout/shop/web/diff?from=2&to=2", "", nil).Body.String(), "are the same")
	contains(t, d.send("GET", "/rollouts/rollout/shop/web/diff?from=9", "", nil).Body.String(), `role="alert"`)
	if w := d.send("GET", "/rollouts/rollout/shop/web/diff?from=x", "", nil); w.Code != http.StatusBadRequest {
		t.Errorf("no number: %d", w.Code)
	}
}

// Badges and tiles are for other sites' pages, as far as the dashboard was told so. They hold nothing that one could press.
func TestBadgesAndTiles(t *testing.T) {
	image := func(r *http.Request) {
		r.Header.Set("Sec-Fetch-Site", "cross-site")
		r.Header.Set("Sec-Fetch-Mode", "no-cors")
		r.Header.Set("Sec-Fetch-Dest", "image")
	}
	frame := func(r *http.Request) {
		r.Header.Set("Sec-Fetch-Site", "same-site")
		r.Header.Set("Sec-Fetch-Mode", "navigate")
		r.Header.Set("Sec-Fetch-Dest", "iframe")
	}
	d := newDesk(t, nil, paused)
	if w := d.send("GET", "/rollouts/badge/shop/web", "", nil); w.Code != http.StatusUnauthorized {
		t.Errorf("a badge for nobody: %d", w.Code)
	}
	d.enter()
	contains(t, d.send("GET", "/rollouts/badge/shop/web", "", nil).Body.String(), "<svg", "web: Paused 50 %, step 1/2")
	for path, from := range map[string]func(*http.Request){"badge": image, "tile": frame} {
		if w := d.send("GET", "/rollouts/"+path+"/shop/web", "", from); w.Code != http.StatusForbidden {
			t.Errorf("a %s for another site: %d", path, w.Code)
		}
	}
	open := newDesk(t, func(o *Options) { o.PublicBadges, o.Frames = true, []string{"https://argocd.example.com"} }, paused)
	w := open.send("GET", "/rollouts/badge/shop/web", "", image)
	if w.Code != http.StatusOK || w.Header().Get("Cross-Origin-Resource-Policy") != "cross-origin" {
		t.Errorf("a public badge: %d %v", w.Code, w.Header())
	}
	if w := open.send("GET", "/rollouts/badge/shop/x%3Cscript%3E", "", image); w.Code != http.StatusNotFound || strings.Contains(w.Body.String(), "<script") {
		t.Errorf("a badge of nothing: %d %s", w.Code, w.Body)
	}
	if w := open.send("GET", "/rollouts/tile/shop/web", "", frame); w.Code != http.StatusUnauthorized {
		t.Errorf("a tile for nobody: %d", w.Code)
	}
	open.enter()
	w = open.send("GET", "/rollouts/tile/shop/web", "", frame)
	if csp := w.Header().Get("Content-Security-Policy"); w.Code != http.StatusOK || !strings.Contains(csp, "frame-ancestors https://argocd.example.com") || w.Header().Get("X-Frame-Options") != "" {
		t.Errorf("a tile: %d %v", w.Code, w.Header())
	}
	contains(t, w.Body.String(), "Paused", "step 1 / 2, weight 50 %")
	if strings.Contains(w.Body.String(), "<form") || strings.Count(w.Body.String(), "<script") != 1 {
		t.Errorf("a tile can do something: %s", w.Body)
	}
	for path, change := range map[string]func(*http.Request){"": frame, "rollout/shop/web": frame, "rollout/shop/web/promote": frame, "static/app.js": image} {
		if w := open.send("GET", "/rollouts/"+path, "", change); w.Code != http.StatusForbidden {
			t.Errorf("%q for another site: %d", path, w.Code)
		}
	}
}

func TestRoutesAreShownAsTheyAre(t *testing.T) {
	d := newDesk(t, nil, strings.Replace(paused, "canary: {steps", "canary: {stableService: web-stable, canaryService: web-canary, steps", 1), `
apiVersion: v1
kind: Service
metadata: {name: web-canary, namespace: shop}
spec: {selector: {app: web, rollouts-pod-template-hash: 7f8d6c5b4}}
`).enter()
	d.wait("the service", func() bool {
		page := d.send("GET", "/rollouts/rollout/shop/web", "", nil).Body.String()
		return strings.Contains(page, `<span class="set">web-canary</span>`) && strings.Contains(page, "rollouts-pod-template-hash: 7f8d6c5b4")
	})
}
