package v1alpha1

// KubernetesMetric is a metric of the external or custom metrics API of Kubernetes, which a HorizontalPodAutoscaler reads too: the external
// metric of that name, or with pods or object the custom metric of these objects. Everything is read in the namespace of the
// AnalysisRun. The result is a list of numbers.
//
// +kubebuilder:validation:XValidation:rule=`!(has(self.pods) && has(self.object))`,message=`set pods or object, not both`
type KubernetesMetric struct {
	// Name of the metric, such as "queue_messages_ready".
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Metric string `json:"metric"`

	// Label selector for the series of the metric, such as "queue=orders". Defaults to all of them.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Selector string `json:"selector,omitempty"`

	// Label selector for the pods whose custom metric to read, such as "app=shop". The result has one number for each pod.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Pods string `json:"pods,omitempty"`

	// The object whose custom metric to read.
	// +optional
	Object *KubernetesMetricObject `json:"object,omitempty"`
}

// KubernetesMetricObject names an object that a custom metric describes.
type KubernetesMetricObject struct {
	// Resource of the object in the plural, with its API group unless that is the core group: "services", or "ingresses.networking.k8s.io".
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Resource string `json:"resource"`

	// Name of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}
