package watch

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/notifier/config"
)

// Variables are what a message about a Rollout knows, for commands that show one. Without a cluster, reader is nil, and nothing is known but
// the object itself.
func Variables(ctx context.Context, reader client.Reader, rollout *unstructured.Unstructured, c *config.Config, trigger string, to config.Destination, now time.Time) (map[string]any, error) {
	s := &subject{object: rollout, rollout: rollout}
	if reader != nil {
		var err error
		if s, err = about(ctx, reader, reader, rollout, nil); err != nil {
			return nil, err
		}
	}
	vars := s.variables(&loaded{Config: c}, trigger, now)
	vars["serviceType"], vars["recipient"] = to.Service, to.Recipient
	return vars, nil
}
