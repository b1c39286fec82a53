package controller

import (
	"context"
	"fmt"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/analysis"
)

// endless has every template, and each names 100 others.
type endless struct {
	client.Reader
	reads int
}

func (e *endless) Get(_ context.Context, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	e.reads++
	for i := range 100 {
		name := fmt.Sprintf("t-%d-%d", e.reads, i)
		spec := &into.(*v1alpha1.AnalysisTemplate).Spec
		spec.Templates = append(spec.Templates, v1alpha1.AnalysisTemplateRef{TemplateName: name})
	}
	return nil
}

// A pass reads no more templates than an object may use, however many there are, and says of the rest that they are too many.
func TestTemplatesAreNotReadWithoutEnd(t *testing.T) {
	from := &endless{}
	templates, err := readTemplates(t.Context(), from, "team", []v1alpha1.AnalysisTemplateRef{{TemplateName: "first"}})
	if err != nil {
		t.Fatal(err)
	}
	tooMany := 0
	for _, template := range templates {
		if template == analysis.TooMany {
			tooMany++
		}
	}
	if from.reads != analysis.MostTemplates || tooMany == 0 || len(templates) != from.reads+tooMany {
		t.Errorf("%d reads, %d templates of which %d are too many", from.reads, len(templates), tooMany)
	}
}
