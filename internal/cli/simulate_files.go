package cli

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/sim/play"
)

// props are what files have that an update may be played with, and of which the Rollout says what it needs.
type props struct {
	stage       *play.Stage
	rollouts    []found
	deployments []*appsv1.Deployment
	autoscalers []*autoscalingv2.HorizontalPodAutoscaler
}

// found is an object, and the file in which it stands.
type found struct {
	*unstructured.Unstructured
	file string
}

// stageFiles gathers what the update is played with from files. Names are the Rollout's, or none if the files have but one.
func (a *app) stageFiles(stage *play.Stage, s simulation, names []string) error {
	sources, err := readSources(s.files, s.deep, a.In)
	if err != nil {
		return err
	}
	p := props{stage: stage}
	for _, source := range sources {
		objects, err := source.objects()
		if err != nil {
			return err
		}
		for _, u := range objects {
			if err := p.take(found{u, source.name}); err != nil {
				return err
			}
		}
	}
	if stage.Rollout, err = p.rollout(s.files, names); err != nil {
		return err
	}
	if stage.Deployment, err = p.workload(); err != nil {
		return err
	}
	if stage.Autoscaler = autoscalerOf(stage.Rollout, p.autoscalers); stage.Autoscaler == nil {
		stage.NoAutoscaler = p.noAutoscaler()
	}
	return nil
}

// take puts an object where it belongs. Those that an update has nothing to do with are passed over.
func (p *props) take(o found) error {
	stage := p.stage
	switch o.GroupVersionKind().GroupKind().String() {
	case "Rollout.argoproj.io":
		p.rollouts = append(p.rollouts, o)
	case "AnalysisTemplate.argoproj.io", "ClusterAnalysisTemplate.argoproj.io":
		t := &v1alpha1.AnalysisTemplate{}
		stage.Templates[v1alpha1.AnalysisTemplateRef{TemplateName: o.GetName(), ClusterScope: o.GetKind() == "ClusterAnalysisTemplate"}] = &t.Spec
		return p.read(o, t)
	case "Service":
		s := &corev1.Service{}
		stage.Services = append(stage.Services, s)
		return o.into(s)
	case "Secret":
		s := &corev1.Secret{}
		stage.Secrets = append(stage.Secrets, s)
		return o.into(s)
	case "ConfigMap":
		m := &corev1.ConfigMap{}
		stage.ConfigMaps = append(stage.ConfigMaps, m)
		return o.into(m)
	case "HorizontalPodAutoscaler.autoscaling":
		h := &autoscalingv2.HorizontalPodAutoscaler{}
		p.autoscalers = append(p.autoscalers, h)
		return o.into(h)
	case "Deployment.apps":
		d := &appsv1.Deployment{}
		p.deployments = append(p.deployments, d)
		return o.into(d)
	}
	if play.IsRoute(o.GroupVersionKind().GroupKind()) {
		stage.Routes = append(stage.Routes, o.Unstructured)
	}
	return nil
}

func (o found) into(typed any) error {
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, typed); err != nil {
		return fmt.Errorf("%s: %s: %w; run sluice lint to see in which field", o.file, titled(o.Unstructured), err)
	}
	return nil
}

// read is into for our own kinds, with a warning of fields that do not exist: they play no part.
func (p *props) read(o found, typed any) error {
	if strict, unknown := runtime.AsStrictDecodingError(strictly(o.Object, typed)); unknown {
		for _, err := range strict.Errors() {
			if field := err.Error(); !strings.Contains(field, `"spec.template.`) { // pods may have fields that came later
				p.stage.Warnings = append(p.stage.Warnings, fmt.Sprintf("%s: %s: %s, which plays no part; sluice lint says more", o.file, titled(o.Unstructured), field))
			}
		}
	}
	return o.into(typed)
}

// written is one of our kinds as it is decoded strictly: the kinds themselves pass over what they do not know, and keep what they cannot read.
type written[S any] struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec   S   `json:"spec"`
	Status any `json:"status"`
}

// strictly returns an error if an object has fields that its kind has not.
func strictly(object map[string]any, kind any) error {
	var into any
	switch kind.(type) {
	case *v1alpha1.Rollout:
		into = &written[v1alpha1.RolloutSpec]{}
	case *v1alpha1.AnalysisTemplate:
		into = &written[v1alpha1.AnalysisTemplateSpec]{}
	default:
		panic(fmt.Sprintf("%T is never read strictly", kind))
	}
	return runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object, into, true)
}

// rollout is the one that is meant.
func (p *props) rollout(files, names []string) (*v1alpha1.Rollout, error) {
	there := make([]string, len(p.rollouts))
	for i, o := range p.rollouts {
		there[i] = o.GetName()
	}
	meant := 0
	switch {
	case len(there) == 0:
		return nil, fmt.Errorf("there is no Rollout in %s: give a file or a directory with one", strings.Join(files, ", "))
	case len(names) > 0 && !slices.Contains(there, names[0]):
		return nil, fmt.Errorf("there is no Rollout %q in %s: there are %s", names[0], strings.Join(files, ", "), strings.Join(there, ", "))
	case len(names) > 0:
		meant = slices.Index(there, names[0])
	case len(there) > 1:
		return nil, fmt.Errorf("only one Rollout can be simulated, and there are %s: add one of these names to the command", strings.Join(there, ", "))
	}
	ro := &v1alpha1.Rollout{}
	return ro, p.read(p.rollouts[meant], ro)
}

// workload is the Deployment that the Rollout refers to, nil if it has a template of its own.
func (p *props) workload() (*appsv1.Deployment, error) {
	ref := p.stage.Rollout.Spec.WorkloadRef
	if ref == nil {
		return nil, nil //nolint:nilnil // it needs none
	}
	i := slices.IndexFunc(p.deployments, func(d *appsv1.Deployment) bool { return d.Name == ref.Name })
	if i < 0 || ref.Kind != "Deployment" {
		return nil, fmt.Errorf("the Rollout refers to %s %q, which is not in the files: add it if it is a Deployment; others cannot be simulated", ref.Kind, ref.Name)
	}
	return p.deployments[i], nil
}

// noAutoscaler is why nothing scales the Rollout.
func (p *props) noAutoscaler() string {
	var others []string
	for _, h := range p.autoscalers {
		others = append(others, fmt.Sprintf("%q scales %s %q", h.Name, h.Spec.ScaleTargetRef.Kind, h.Spec.ScaleTargetRef.Name))
	}
	text := fmt.Sprintf("none in the files scales Rollout %q", p.stage.Rollout.Name)
	if len(others) > 0 {
		text += fmt.Sprintf(" (%s)", strings.Join(others, ", "))
	}
	return text + ": give its manifest too"
}
