package act

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/cli/live"
)

// Fields are parts of an object, for a merge patch. A nil value takes a field away.
type Fields map[string]any

// Patch is what a command writes to an object: fields of its status, fields of its spec, or both.
type Patch struct{ Status, Spec Fields }

// Send writes the status first, through its subresource. Clusters whose CRD has no status subresource, as in the early days of the
// API, get all of it in one patch of the object.
func (p Patch) Send(ctx context.Context, c live.Client, resource schema.GroupVersionResource, name string) error {
	if p.Status != nil {
		err := Merge(ctx, c, resource, name, Fields{"status": p.Status}, "status")
		if apierrors.IsNotFound(err) {
			return Merge(ctx, c, resource, name, p.whole())
		}
		if err != nil {
			return err
		}
	}
	if p.Spec != nil {
		return Merge(ctx, c, resource, name, Fields{"spec": p.Spec})
	}
	return nil
}

func (p Patch) empty() bool { return p.Status == nil && p.Spec == nil }

func (p Patch) whole() Fields {
	whole := Fields{}
	if p.Spec != nil {
		whole["spec"] = p.Spec
	}
	if p.Status != nil {
		whole["status"] = p.Status
	}
	return whole
}

// Merge writes fields of an object, or of a subresource of it.
func Merge(ctx context.Context, c live.Client, resource schema.GroupVersionResource, name string, f Fields, subresources ...string) error {
	body, err := json.Marshal(f)
	if err != nil {
		return fmt.Errorf("patch of %s '%s': %w", resource.Resource, name, err)
	}
	_, err = c.Resource(resource).Namespace(c.Namespace).Patch(ctx, name, types.MergePatchType, body, metav1.PatchOptions{}, subresources...)
	return err
}

// Applied is a Rollout as the patch leaves it.
func (p Patch) Applied(ro *v1alpha1.Rollout) (*v1alpha1.Rollout, error) {
	before, err := json.Marshal(ro)
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(p.whole())
	if err != nil {
		return nil, err
	}
	merged, err := jsonpatch.MergePatch(before, body)
	if err != nil {
		return nil, err
	}
	out := &v1alpha1.Rollout{}
	if err := json.Unmarshal(merged, out); err != nil {
		return nil, fmt.Errorf("rollout '%s' as it will be: %w", ro.Name, err)
	}
	return out, nil
}
