//go:build unix

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/sluice-delivery/sluice/internal/cli/live"
	"github.com/sluice-delivery/sluice/internal/view"
)

// The identity that config/rbac gives the controller, and the namespace where it runs.
const (
	namespace      = "argo-rollouts"
	serviceAccount = namespace + "/argo-rollouts"
)

// story is one run of the demo.
type story struct {
	example example
	folder  string
	keep    bool
	// children are in the order in which they were started.
	children []*child
	// fail ends the story for a reason.
	fail context.CancelCauseFunc
	// doing is what the story is at, to complete "failed to …".
	doing  string
	began  time.Time
	screen live.Screen
	client live.Client
}

func newStory(strategy string, keep bool) (*story, error) {
	e, err := readExample(strategy)
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "sluice-demo-")
	if err != nil {
		return nil, err
	}
	s := &story{example: e, folder: folder, keep: keep, began: time.Now(), screen: live.NewScreen(os.Stdout, false)}
	s.screen.LinesOnly = true
	return s, nil
}

// part is one part of the story: what it is about, and how it goes.
type part struct {
	doing string
	do    func(context.Context) error
}

func (s *story) tell(ctx context.Context) error {
	for _, part := range s.parts() {
		s.doing = part.doing
		fmt.Printf("\n▸ %s%s\n", strings.ToUpper(part.doing[:1]), part.doing[1:])
		if err := part.do(ctx); err != nil {
			return err
		}
	}
	fmt.Printf("\n✔ The update is done: %s is healthy with %s. %.0f s in all.\n",
		s.example.rollout, s.example.newImage(), time.Since(s.began).Seconds())
	return nil
}

func (s *story) parts() []part {
	parts := []part{
		{"start a Kubernetes control plane", s.startPlayground},
		{"install the CRDs and the controller's access rules", s.install},
	}
	if s.example.isJudged {
		parts = append(parts, part{"start a Prometheus that counts the requests of the pods", s.startPrometheus})
	}
	parts = append(parts,
		part{"start the controller, with the rights that the install manifests give it", s.startController},
		part{"run " + s.example.rollout + " for the first time", s.firstVersion},
	)
	if s.example.isJudged {
		return append(parts,
			part{fmt.Sprintf("update it to a version that answers %d %% of the requests with an error", faultyPercent), s.faultyVersion},
			part{"update it to a version without errors", s.goodVersion},
		)
	}
	parts = append(parts, part{"update it, up to the pause", s.update}, part{"promote it", s.promote})
	if s.example.isBlueGreen { // a canary's old pods went as the new ones came
		parts = append(parts, part{"wait until the old version's pods are gone", s.scaleDown})
	}
	return parts
}

func (s *story) kubeconfig() string { return filepath.Join(s.folder, "kubeconfig") }

func (s *story) startPlayground(ctx context.Context) error {
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	defer read.Close() //nolint:errcheck // it was only read
	c, err := s.start(ctx, write, "bin/sluice-playground", "up", "--kubeconfig", s.kubeconfig())
	if err := errors.Join(err, write.Close()); err != nil {
		return err
	}
	ready := make(chan bool, 1)
	go func() { ready <- bufio.NewScanner(read).Scan() }() // the kubeconfig's path, as soon as the cluster can be used
	select {
	case <-ctx.Done():
		return ctx.Err()
	case ok := <-ready:
		if !ok {
			<-c.ended
			return c.end()
		}
	}
	fmt.Printf("  ready after %.1f s\n", time.Since(s.began).Seconds())
	return s.connect()
}

func (s *story) connect() error {
	config, err := clientcmd.BuildConfigFromFlags("", s.kubeconfig())
	if err != nil {
		return err
	}
	config.QPS = -1
	s.client.Namespace = "default"
	s.client.Interface, err = dynamic.NewForConfig(config)
	return err
}

func (s *story) install(ctx context.Context) error {
	if err := s.kubectl(ctx, "apply", "-f", "config/crd", "-f", "config/rbac", "-f", "config/policy"); err != nil {
		return err
	}
	return s.kubectl(ctx, "wait", "--for=condition=Established", "customresourcedefinitions", "--all", "--timeout=30s")
}

func (s *story) startController(ctx context.Context) error {
	kubeconfig := filepath.Join(s.folder, "controller.kubeconfig")
	err := s.run(ctx, "bin/sluice-playground", "kubeconfig", "--service-account", serviceAccount, "--kubeconfig", s.kubeconfig(), "-o", kubeconfig)
	if err != nil {
		return err
	}
	_, err = s.start(ctx, nil, "bin/sluice-controller", "--kubeconfig", kubeconfig, "--namespace", namespace,
		"--metrics-port=0", "--healthz-port=0", "--analysis-allow-cidrs=127.0.0.0/8")
	return err
}

func (s *story) firstVersion(ctx context.Context) error {
	if err := s.kubectl(ctx, "apply", "-f", s.example.path); err != nil {
		return err
	}
	return s.show(ctx, healthy)
}

func (s *story) update(ctx context.Context) error {
	if err := s.setImage(ctx, s.example.newImage()); err != nil {
		return err
	}
	return s.show(ctx, paused)
}

func (s *story) setImage(ctx context.Context, image string) error {
	return s.sluice(ctx, "set", "image", s.example.rollout, s.example.container+"="+image)
}

// faultyVersion is taken back by itself.
func (s *story) faultyVersion(ctx context.Context) error {
	if err := s.setImage(ctx, s.example.faultyImage()); err != nil {
		return err
	}
	return s.show(ctx, func(r view.Rollout) bool { return r.Status.Icon == view.IconDegraded && r.Replicas.Updated == 0 })
}

// goodVersion gets through without anybody's help.
func (s *story) goodVersion(ctx context.Context) error {
	if err := s.setImage(ctx, s.example.newImage()); err != nil {
		return err
	}
	return s.show(ctx, func(r view.Rollout) bool {
		return healthy(r) && len(r.Images) == 1 && r.Images[0].Name == s.example.newImage()
	})
}

func (s *story) promote(ctx context.Context) error {
	if err := s.sluice(ctx, "promote", s.example.rollout); err != nil {
		return err
	}
	return s.show(ctx, healthy)
}

// scaleDown waits for the end of the delay for which the old version keeps its pods.
func (s *story) scaleDown(ctx context.Context) error {
	return s.show(ctx, func(r view.Rollout) bool { return healthy(r) && r.Replicas.Current == r.Replicas.Desired })
}

func healthy(r view.Rollout) bool { return r.Status.Icon == view.IconHealthy }

// paused lasts until a user promotes it.
func paused(r view.Rollout) bool { return r.Status.Icon == view.IconPaused && r.Pause == nil }

// grace is how long a Rollout may be degraded: one whose Services are applied a moment after it is, until they are there.
const grace = 5 * time.Second

// show shows the Rollout as it changes until it is as wanted.
func (s *story) show(ctx context.Context, wanted func(view.Rollout) bool) error {
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	sights, err := s.client.Follow(ctx, s.example.rollout)
	if err != nil {
		return err
	}
	var (
		last     view.Rollout
		degraded *time.Timer
	)
	err = s.screen.Show(ctx, sights, func(r view.Rollout) bool {
		last = r
		switch {
		case r.Status.Icon != view.IconDegraded && degraded != nil:
			degraded.Stop()
			degraded = nil
		case r.Status.Icon == view.IconDegraded && degraded == nil:
			degraded = time.AfterFunc(grace, func() { giveUp(fmt.Errorf("the rollout is degraded: %s", r.Status.Message)) })
		}
		return wanted(r)
	})
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%w; the last that was seen: %s", context.Cause(ctx), last.Summary())
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return err
	case s.screen.Terminal():
		return nil
	}
	objects, err := s.client.Objects(ctx, s.example.rollout)
	if err != nil {
		return err
	}
	fmt.Println()
	return s.screen.Print(objects)
}

// kubectl runs the kubectl that is part of the playground: nobody needs to have one.
func (s *story) kubectl(ctx context.Context, args ...string) error {
	fmt.Printf("  $ kubectl %s\n", strings.Join(args, " "))
	return s.run(ctx, "bin/sluice-playground", append([]string{"kubectl", "--kubeconfig", s.kubeconfig()}, args...)...)
}

func (s *story) sluice(ctx context.Context, args ...string) error {
	fmt.Printf("  $ sluice %s\n", strings.Join(args, " "))
	return s.run(ctx, "bin/sluice", append(args, "--kubeconfig", s.kubeconfig())...)
}

// run runs a program to its end and shows what it says only if that is an error, or a word about a Rollout.
func (s *story) run(ctx context.Context, path string, args ...string) error {
	cmd := exec.CommandContext(ctx, path, args...)
	out, err := cmd.CombinedOutput()
	text := strings.TrimSpace(string(out))
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w\n%s", filepath.Base(path), args[0], err, text)
	}
	if path == "bin/sluice" {
		fmt.Println(" ", text)
	}
	return nil
}

// start starts a program that must not end before the story does.
func (s *story) start(ctx context.Context, stdout *os.File, path string, args ...string) (*child, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	fmt.Printf("  $ %s %s\n", path, strings.Join(args, " "))
	c, err := start(s.folder, s.keep, stdout, path, args...)
	if err != nil {
		return nil, err
	}
	s.children = append(s.children, c)
	go func() {
		<-c.ended
		s.fail(c.end())
	}()
	return c, nil
}
