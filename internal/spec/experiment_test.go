package spec

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

func oneTemplate() *v1alpha1.Experiment {
	labels := map[string]string{"app": "web"}
	ex := &v1alpha1.Experiment{ObjectMeta: metav1.ObjectMeta{Name: "demo"}}
	ex.Spec.Templates = []v1alpha1.TemplateSpec{{
		Name: "canary", Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "web:2", Ports: []corev1.ContainerPort{{ContainerPort: 80}}}}},
		},
	}}
	return ex
}

func TestExperimentProblems(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*v1alpha1.ExperimentSpec)
		want   []string
	}{
		"nothing is wrong": {func(*v1alpha1.ExperimentSpec) {}, nil},
		"no templates":     {func(s *v1alpha1.ExperimentSpec) { s.Templates = nil }, []string{"spec.templates: is empty: list at least one template"}},
		"no name": {
			func(s *v1alpha1.ExperimentSpec) { s.Templates[0].Name = "" },
			[]string{"spec.templates[0].name: is empty: each needs a name of its own"},
		},
		"one name twice": {
			func(s *v1alpha1.ExperimentSpec) { s.Templates = append(s.Templates, s.Templates[0]) },
			[]string{`spec.templates[1].name: "canary" is already the name of spec.templates[0]: give each template a name of its own`},
		},
		"no selector": {
			func(s *v1alpha1.ExperimentSpec) { s.Templates[0].Selector = &metav1.LabelSelector{} },
			[]string{"spec.templates[0].selector: is empty: write matchLabels that the labels of the pod template fulfil"},
		},
		"a selector of other pods": {
			func(s *v1alpha1.ExperimentSpec) {
				s.Templates[0].Selector.MatchLabels = map[string]string{"app": "api"}
			},
			[]string{`spec.templates[0].template.metadata.labels: app=web does not match the selector, which is "app=api": give the template these labels`},
		},
		"a deadline that no pod can keep": {
			func(s *v1alpha1.ExperimentSpec) { s.Templates[0].MinReadySeconds = 600 },
			[]string{"spec.templates[0].minReadySeconds: 600 must be at least 0 and less than progressDeadlineSeconds, which is 600"},
		},
		"a duration in words": {
			func(s *v1alpha1.ExperimentSpec) { s.Duration = "a while" },
			[]string{`spec.duration: "a while" is not a duration: write for example "30s", "10m" or "1h30m"`},
		},
		"one Service for two": {
			func(s *v1alpha1.ExperimentSpec) {
				other := *s.Templates[0].DeepCopy()
				other.Name = "baseline"
				s.Templates = append(s.Templates, other)
				for i := range s.Templates {
					s.Templates[i].Service = &v1alpha1.TemplateService{Name: "trial"}
				}
			},
			[]string{`spec.templates[1].service.name: "trial" is already the Service of spec.templates[0]: give each template one of its own`},
		},
		"a Service that no container has a port for is left out": {
			func(s *v1alpha1.ExperimentSpec) {
				s.Templates[0].Template.Spec.Containers[0].Ports, s.Templates[0].Service = nil, &v1alpha1.TemplateService{}
			},
			nil,
		},
		"the end of what has none": {
			func(s *v1alpha1.ExperimentSpec) {
				s.Analyses = []v1alpha1.ExperimentAnalysisTemplateRef{{Name: "a", TemplateName: "a", Args: []v1alpha1.Argument{{Name: "end", Value: new("{{ experiment.finishedAt }}")}}}}
			},
			[]string{`spec.analyses[0].args: argument "end": {{ experiment.finishedAt }} is not known without a duration: add it, or write one of {{experiment.availableAt}}, {{templates.canary.podTemplateHash}}, {{templates.canary.replicaset.name}}`},
		},
		"a negative delay": {
			func(s *v1alpha1.ExperimentSpec) { s.ScaleDownDelaySeconds = new(int32(-1)) },
			[]string{"spec.scaleDownDelaySeconds: -1 is negative: write 0 or more"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			ex := oneTemplate()
			c.change(&ex.Spec)
			_, problems := ResolveExperiment(ex)
			var got []string
			for _, p := range problems {
				got = append(got, p.String())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestExperimentHashes: a template that is a copy of a Rollout's has another hash than that, and than any other copy.
func TestExperimentHashes(t *testing.T) {
	ex := oneTemplate()
	other := *ex.Spec.Templates[0].DeepCopy()
	other.Name = "baseline"
	ex.Spec.Templates = append(ex.Spec.Templates, other)
	seen := map[string]bool{PodHash(&ex.Spec.Templates[0].Template, nil): true}
	for _, name := range []string{"demo", "demo-1"} {
		ex.Name = name
		resolved, problems := ResolveExperiment(ex)
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		for _, template := range resolved.Templates {
			if seen[template.PodHash] {
				t.Errorf("template %s of %s has the hash %s of another one", template.Name, name, template.PodHash)
			}
			seen[template.PodHash] = true
		}
	}
}

func TestServicePorts(t *testing.T) {
	port := func(name string, number int32) corev1.ContainerPort {
		return corev1.ContainerPort{Name: name, ContainerPort: number}
	}
	for name, c := range map[string]struct {
		ports [][]corev1.ContainerPort
		want  string
	}{
		"none":                      {nil, ""},
		"one needs no name":         {[][]corev1.ContainerPort{{port("", 80)}}, ":80/TCP"},
		"several unnamed ones":      {[][]corev1.ContainerPort{{port("", 80), port("", 81)}}, "tcp-80:80/TCP tcp-81:81/TCP"},
		"names are kept":            {[][]corev1.ContainerPort{{port("http", 80), port("", 81)}}, "http:80/TCP tcp-81:81/TCP"},
		"one port of two names":     {[][]corev1.ContainerPort{{port("http", 80)}, {port("web", 80)}}, "http:80/TCP"},
		"one name in two":           {[][]corev1.ContainerPort{{port("http", 80)}, {port("http", 81)}}, "http:80/TCP tcp-81:81/TCP"},
		"a name that looks made up": {[][]corev1.ContainerPort{{port("tcp-81", 80), port("", 81)}}, "tcp-81:80/TCP tcp-81-x:81/TCP"},
		"both protocols":            {[][]corev1.ContainerPort{{port("", 53), {ContainerPort: 53, Protocol: corev1.ProtocolUDP}}}, "tcp-53:53/TCP udp-53:53/UDP"},
	} {
		t.Run(name, func(t *testing.T) {
			var containers []corev1.Container
			for _, ports := range c.ports {
				containers = append(containers, corev1.Container{Ports: ports})
			}
			var got []string
			for _, p := range servicePorts(containers) {
				got = append(got, p.Name+":"+p.TargetPort.String()+"/"+string(p.Protocol))
			}
			if diff := cmp.Diff(c.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
