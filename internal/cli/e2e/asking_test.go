package e2e_test

import (
	"strings"
	"testing"

	"github.com/sluice-delivery/sluice/internal/playtest"
)

// What people and scripts ask before, during and after an update, of a real one.
func TestQuestions(t *testing.T) {
	ns := playtest.New(t)
	ns.StartController()
	p := newPlugin(t, ns)
	const atMost = "--timeout=90s"

	_, talk := p.run(1, "lint", "-f", manifest(t, strings.Replace(web, "setWeight: 50", "setWieght: 50", 1)))
	contains(t, talk, "error: 1 error and ")
	file := manifest(t, web)
	p.run(0, "lint", "-f", file)
	p.run(0, "create", "-f", file)
	p.run(0, "wait", "web", "--for=healthy", atMost)

	p.run(0, "set", "image", "web", "nginx=nginx:2")
	out, _ := p.run(0, "wait", "web", "--for=step=1", "--for=degraded", atMost)
	contains(t, out, "rollout 'web' has completed 1 step\n")
	p.run(0, "wait", "web", "--for=weight=50", atMost)
	p.run(0, "wait", "web", "--for=paused", atMost)

	resourceVersion := ns.Rollout("web").ResourceVersion
	out, _ = p.run(0, "explain", "web")
	contains(t, out, "The canary 'web' is Paused: CanaryPauseStep.\n", "step 2 of 2 (pause): until someone promotes it",
		"As soon as someone promotes ('kubectl argo rollouts promote web'):", "step 2 of 2 is done: pause")
	if strings.Contains(out, "would do at once") {
		t.Errorf("the engine here disagrees with the controller's:\n%s", out)
	}
	if now := ns.Rollout("web").ResourceVersion; now != resourceVersion {
		t.Errorf("explaining has changed the Rollout: %s, was %s", now, resourceVersion)
	}

	out, _ = p.run(0, "diff", "web")
	contains(t, out, "--- revision 1 (stable)\n+++ revision 2\n", "-  - image: nginx:1\n+  - image: nginx:2\n")
	if n := strings.Count(out, "\n+ ") + strings.Count(out, "\n- "); n != 2 {
		t.Errorf("%d lines differ, want the image only:\n%s", n, out)
	}
	out, _ = p.run(0, "get", "rollout", "web", "-o", "name")
	contains(t, out, "rollout.argoproj.io/web\n")

	p.run(0, "set", "image", "web", "nginx=nginx:bad")
	ns.WaitForRollout("web", "to take the new template up", playtest.Observed)
	p.run(0, "abort", "web")
	p.run(0, "wait", "web", "--for=degraded", atMost)
	out, talk = p.run(0, "undo", "web", "--to-revision=1")
	contains(t, talk, "nginx from nginx:bad to nginx:1. This is the stable version, so it takes over again immediately.")
	contains(t, out, "rollout 'web' undone to revision 1\n")
	p.run(0, "wait", "web", "--for=healthy", atMost)
	out, _ = p.run(0, "history", "web")
	contains(t, out, "stable", "nginx:bad", "nginx:2")
}
