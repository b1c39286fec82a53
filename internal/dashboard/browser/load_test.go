package browser_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"github.com/sluice-delivery/sluice/internal/dashboard/browser"
	"github.com/sluice-delivery/sluice/internal/playtest"
	"github.com/sluice-delivery/sluice/internal/playtest/port"
)

// The load that the dashboard in the cluster is built for, and the memory that its process may take then.
const (
	loadRollouts = 1000
	loadViewers  = 50
	loadKilobyte = 150 << 10
)

// The program sluice-dashboard, as config/dashboard starts it, with a thousand Rollouts, fifty open lists, and a browser: what its process takes of
// the machine's memory is bounded. How long things take depends on the machine; make bench shows it.
func TestC15TheProcessWithAThousandRollouts(t *testing.T) {
	ctx := chromium(t)
	cluster := newThousand(t)
	p := startProcess(t, cluster)
	viewers := make([]*viewer, loadViewers)
	for i := range viewers {
		viewers[i] = p.view(t, i)
		viewers[i].until(t, "web10")
	}
	do(ctx, t, "open the list", network.Enable(), network.SetExtraHTTPHeaders(network.Headers{"Authorization": "Bearer browser"}))
	paints := make([]float64, 0, 5)
	for range 5 {
		var first float64
		do(ctx, t, "load the list", chromedp.Navigate(p.url), shows("#link", "live"), shows("#f-pager", "1000 rollouts"),
			browser.Holds("something was painted", `performance.getEntriesByName('first-contentful-paint').length > 0`),
			chromedp.Evaluate(`performance.getEntriesByName('first-contentful-paint')[0].startTime`, &first))
		paints = append(paints, first)
	}
	do(ctx, t, "watch for the change", chromedp.Evaluate(`
		new MutationObserver(() => { if (!window.seen && document.body.innerText.includes('on the screen')) window.seen = Date.now() }).observe(document.body, {subtree: true, childList: true, characterData: true}); 0`, nil))
	begin := time.Now()
	cluster.change("web10", "on the screen")
	for _, v := range viewers {
		v.until(t, "on the screen")
	}
	all := time.Since(begin)
	var seen float64
	do(ctx, t, "see the change", browser.Holds("the change is on the screen", `!!window.seen`), chromedp.Evaluate(`window.seen`, &seen))
	now, most := p.memory(t)
	if most > loadKilobyte {
		t.Errorf("the process took %d MiB at most", most>>10)
	}
	t.Logf("%d rollouts, %d open lists: the process takes %d MiB (at most %d MiB so far); first paint of the list after %.0f ms (five loads); "+
		"a change is on the browser's screen %d ms after its watch event, and was sent to all lists after %d ms",
		loadRollouts, loadViewers, now>>10, most>>10, paints, int64(seen)-begin.UnixMilli(), all.Milliseconds())
}

// process is a running sluice-dashboard.
type process struct {
	cmd *exec.Cmd
	url string
}

func startProcess(t *testing.T, cluster *thousand) *process {
	t.Helper()
	ports, err := port.Several(1)
	if err != nil {
		t.Fatal(err)
	}
	addr := "127.0.0.1:" + strconv.Itoa(ports[0])
	p := &process{url: "http://" + addr + "/rollouts/"}
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: a, contexts: [{name: a, context: {cluster: a, user: a}}], clusters: [{name: a, cluster: {server: %q}}], users: [{name: a, user: {token: own}}]}`, cluster.url)
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p.cmd = exec.CommandContext(t.Context(), playtest.Program("sluice-dashboard"), "--url=https://"+addr+"/rollouts", "--listen="+addr, "--kubeconfig="+kubeconfig)
	p.cmd.Env = append(os.Environ(), "GOMEMLIMIT=230MiB", "GOMAXPROCS=2", "GOGC=100") // as config/dashboard has it
	p.cmd.Stderr = os.Stderr
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.cmd.Process.Kill(); _ = p.cmd.Wait() }) // it has to go, however
	end := time.After(playtest.Patience)
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+addr+"/readyz", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if w, err := http.DefaultClient.Do(r); err == nil {
			_ = w.Body.Close()
			if w.StatusCode == http.StatusOK {
				return p
			}
		}
		select {
		case <-again.C:
		case <-end:
			t.Fatal("the dashboard does not become ready")
		}
	}
}

// memory is what the process has in memory, and had at most, in KiB.
func (p *process) memory(t *testing.T) (now, most int) {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		t.Skipf("this system does not say what a process takes: %v", err)
	}
	for line := range strings.Lines(string(status)) {
		fields := strings.Fields(line)
		switch fields[0] {
		case "VmRSS:":
			now, _ = strconv.Atoi(fields[1]) // the kernel writes it
		case "VmHWM:":
			most, _ = strconv.Atoi(fields[1])
		}
	}
	return now, most
}

// viewer is an open list.
type viewer struct{ lines *bufio.Scanner }

// view opens the list as a person of its own.
func (p *process) view(t *testing.T, who int) *viewer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), playtest.Patience)
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set("Authorization", fmt.Sprintf("Bearer viewer-%d", who))
	w, err := http.DefaultClient.Do(r)
	if err != nil || w.StatusCode != http.StatusOK {
		t.Fatal(w, err)
	}
	t.Cleanup(func() { _ = w.Body.Close() })
	v := &viewer{bufio.NewScanner(w.Body)}
	v.lines.Buffer(nil, 1<<20)
	return v
}

func (v *viewer) until(t *testing.T, text string) {
	t.Helper()
	for v.lines.Scan() {
		if strings.Contains(v.lines.Text(), text) {
			return
		}
	}
	t.Fatalf("the stream ended before %q: %v", text, v.lines.Err())
}

// thousand is an API server with a thousand Rollouts, which lets everyone list and watch.
type thousand struct {
	url     string
	objects map[string][]string

	mu      sync.Mutex
	version int
	// rollouts are the watches of Rollouts.
	rollouts map[chan string]bool
}

// thing is one Rollout of the thousand with what it owns, each as large as API servers send them: with the fields that others manage.
const thing = `
{"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "metadata": {"name": "NAME", "namespace": "shop", "uid": "NAME", "generation": 3, "resourceVersion": "1", "creationTimestamp": "2026-01-01T00:00:00Z", "labels": {"team": "shop"}, "managedFields": [{"manager": "LONG"}]},
 "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "NAME"}}, "template": {"metadata": {"labels": {"app": "NAME"}}, "spec": {"containers": [{"name": "nginx", "image": "nginx:2", "env": [{"name": "TEXT", "value": "LONG"}]}]}}, "strategy": {"canary": {"steps": [{"setWeight": 50}, {"pause": {}}]}}},
 "status": {"observedGeneration": "3", "currentPodHash": "b", "stableRS": "a", "currentStepIndex": 1, "phase": "Paused", "message": "CanaryPauseStep", "controllerPause": true, "replicas": 2, "availableReplicas": 2, "pauseConditions": [{"reason": "CanaryPauseStep", "startTime": "2026-01-01T00:00:00Z"}]}}
`

const ownedSet = `
{"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "NAME-HASH", "namespace": "shop", "uid": "NAME-HASH", "resourceVersion": "1", "creationTimestamp": "2026-01-01T00:00:00Z", "labels": {"rollouts-pod-template-hash": "HASH", "app": "NAME"}, "annotations": {"rollout.argoproj.io/revision": "NUMBER"}, "ownerReferences": [{"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "name": "NAME", "uid": "NAME", "controller": true}], "managedFields": [{"manager": "LONG"}]},
 "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "NAME"}}, "template": {"metadata": {"labels": {"app": "NAME", "rollouts-pod-template-hash": "HASH"}}, "spec": {"containers": [{"name": "nginx", "image": "nginx:NUMBER", "env": [{"name": "TEXT", "value": "LONG"}]}]}}}, "status": {"replicas": 1, "readyReplicas": 1, "availableReplicas": 1}}
`

const ownedPod = `
{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "NAME-HASH-x", "namespace": "shop", "uid": "NAME-HASH-x", "resourceVersion": "1", "creationTimestamp": "2026-01-01T00:00:00Z", "labels": {"rollouts-pod-template-hash": "HASH", "app": "NAME"}, "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "NAME-HASH", "uid": "NAME-HASH", "controller": true}], "managedFields": [{"manager": "LONG"}]},
 "spec": {"containers": [{"name": "nginx", "image": "nginx:NUMBER", "env": [{"name": "TEXT", "value": "LONG"}]}]},
 "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:09Z"}], "containerStatuses": [{"name": "nginx", "image": "nginx:NUMBER", "imageID": "x", "ready": true, "restartCount": 0}]}}
`

func newThousand(t *testing.T) *thousand {
	t.Helper()
	k := &thousand{objects: map[string][]string{}, version: 1, rollouts: map[chan string]bool{}}
	long := strings.Repeat("as the API server sends it, ", 70)
	for i := range loadRollouts {
		name := fmt.Sprintf("web%d", i)
		of := func(text, hash, number string) string {
			return strings.NewReplacer("NAME", name, "HASH", hash, "NUMBER", number, "LONG", long, "\n", " ").Replace(text)
		}
		k.objects["rollouts"] = append(k.objects["rollouts"], of(thing, "", ""))
		for hash, number := range map[string]string{"a": "1", "b": "2"} {
			k.objects["replicasets"] = append(k.objects["replicasets"], of(ownedSet, hash, number))
			k.objects["pods"] = append(k.objects["pods"], of(ownedPod, hash, number))
		}
	}
	k.serve(t)
	return k
}

// change gives a Rollout another message.
func (k *thousand) change(name, message string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.version++
	text := strings.NewReplacer("NAME", name, "LONG", "", "\n", " ", `"resourceVersion": "1"`, fmt.Sprintf(`"resourceVersion": "%d"`, k.version), "CanaryPauseStep\", \"controllerPause", message+"\", \"controllerPause").Replace(thing)
	for w := range k.rollouts {
		w <- fmt.Sprintf(`{"type": "MODIFIED", "object": %s}`, text)
	}
}
