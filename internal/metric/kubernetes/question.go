package kubernetes

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

const (
	externalVersion = "external.metrics.k8s.io/v1beta1"
	customVersion   = "custom.metrics.k8s.io/v1beta2"
)

// question is what to read.
type question struct {
	text, version, path string
}

// newQuestion is what a metric asks for, in one namespace. The names in it may come from arguments, so they are checked here: none may lead to
// another path.
func newQuestion(m *v1alpha1.KubernetesMetric, namespace string) (question, error) {
	if m.Pods != "" && m.Object != nil {
		return question{}, errors.New("pods and object are both set: set one of them")
	}
	if err := checkSelectors(m); err != nil {
		return question{}, err
	}
	of := ""
	if m.Selector != "" {
		of = fmt.Sprintf(" with labels `%s`", m.Selector)
	}
	switch {
	case m.Pods != "":
		return custom(fmt.Sprintf("metric %q%s of the pods with labels `%s`", m.Metric, of, m.Pods), url.Values{"labelSelector": {m.Pods}}, m,
			namespace, "pods", "*", m.Metric)
	case m.Object != nil:
		if resource, _, _ := strings.Cut(m.Object.Resource, "."); resource == "namespaces" {
			return question{}, errors.New("object.resource namespaces cannot be read: an analysis reads metrics of objects in its own namespace only")
		}
		return custom(fmt.Sprintf("metric %q%s of %s %q", m.Metric, of, m.Object.Resource, m.Object.Name), url.Values{}, m,
			namespace, m.Object.Resource, m.Object.Name, m.Metric)
	}
	asked := url.Values{}
	if m.Selector != "" {
		asked.Set("labelSelector", m.Selector)
	}
	return newPath(fmt.Sprintf("external metric %q%s", m.Metric, of), externalVersion, asked, namespace, m.Metric)
}

func checkSelectors(m *v1alpha1.KubernetesMetric) error {
	for field, text := range map[string]string{"selector": m.Selector, "pods": m.Pods} {
		if _, err := labels.Parse(text); err != nil {
			return fmt.Errorf("%s %q is not a label selector: %w: write for example app=shop", field, text, err)
		}
	}
	return nil
}

func custom(text string, asked url.Values, m *v1alpha1.KubernetesMetric, namespace string, names ...string) (question, error) {
	if m.Selector != "" {
		asked.Set("metricLabelSelector", m.Selector)
	}
	return newPath(text, customVersion, asked, namespace, names...)
}

func newPath(text, version string, asked url.Values, namespace string, names ...string) (question, error) {
	q := question{text: fmt.Sprintf("%s in namespace %s", text, namespace), version: version, path: "/apis/" + version + "/namespaces/" + url.PathEscape(namespace)}
	for _, name := range names {
		if wrong := content.IsPathSegmentName(name); len(wrong) > 0 {
			return question{}, fmt.Errorf("%q is not a name: it %s", name, strings.Join(wrong, ", "))
		}
		if name == "" {
			return question{}, errors.New("a name is empty: set metric, and resource and name of an object")
		}
		q.path += "/" + strings.ReplaceAll(url.PathEscape(name), "%2A", "*") // as the autoscaler writes it
	}
	if len(asked) > 0 {
		q.path += "?" + asked.Encode()
	}
	return q, nil
}
