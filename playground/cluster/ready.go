package cluster

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const (
	readyPoll = 25 * time.Millisecond
	// readyTimeout is far above the few seconds that it takes, for machines that are busy with other things.
	readyTimeout = 2 * time.Minute
)

// A check returns nil when what it looks at is as it should be, or else what is missing.
type check func(context.Context) error

// waitFor polls until the check passes, a component fails or the time is up.
func (c *Cluster) waitFor(ctx context.Context, what string, check check) error {
	ctx, cancel := context.WithTimeoutCause(ctx, readyTimeout, fmt.Errorf("not within %s", readyTimeout))
	defer cancel()
	for {
		missing := check(ctx)
		if missing == nil {
			return nil
		}
		select {
		case err := <-c.failed:
			return fmt.Errorf("%w (log: %s)", err, c.LogFile)
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w: %w (log: %s)", what, context.Cause(ctx), missing, c.LogFile)
		case <-time.After(readyPoll):
		}
	}
}

// apiServerReady asks the API server whether all of its start-up is done.
func apiServerReady(config *rest.Config) check {
	return func(ctx context.Context) error {
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			return err
		}
		return client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
	}
}

// usable checks what a user's first pod needs: the namespace's default service account, without which it is refused, and nodes.
func usable(config *rest.Config, nodes int) check {
	return func(ctx context.Context) error {
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			return err
		}
		if _, err := client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{}); err != nil {
			return err
		}
		list, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		ready := 0
		for _, node := range list.Items {
			if isReady(node) {
				ready++
			}
		}
		if ready < nodes {
			return fmt.Errorf("%d of %d nodes are ready", ready, nodes)
		}
		return nil
	}
}

func isReady(node corev1.Node) bool {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}
