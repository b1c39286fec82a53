package live

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/analysis"
)

// AddTemplates reads templates, and those that they name in turn, unless they are known. What there is none of is left out.
func (c Client) AddTemplates(ctx context.Context, known analysis.Templates, refs ...v1alpha1.AnalysisTemplateRef) error {
	seen := map[v1alpha1.AnalysisTemplateRef]bool{}
	for ; len(refs) > 0; refs = refs[1:] {
		ref := refs[0]
		if seen[ref] {
			continue
		}
		seen[ref] = true
		if known[ref] == nil {
			template, err := c.template(ctx, ref)
			if apierrors.IsNotFound(err) {
				continue
			}
			if err != nil {
				return err
			}
			known[ref] = template
		}
		refs = slices.Concat(refs, known[ref].Templates)
	}
	return nil
}

func (c Client) template(ctx context.Context, ref v1alpha1.AnalysisTemplateRef) (*v1alpha1.AnalysisTemplateSpec, error) {
	resource, namespace := AnalysisTemplates, c.Namespace
	if ref.ClusterScope {
		resource, namespace = ClusterAnalysisTemplates, ""
	}
	u, err := c.Resource(resource).Namespace(namespace).Get(ctx, ref.TemplateName, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	template, err := typed[v1alpha1.AnalysisTemplate](u) // one of the cluster has the same shape
	if err != nil {
		return nil, err
	}
	return &template.Spec, nil
}
