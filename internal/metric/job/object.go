package job

import (
	"fmt"
	"hash/fnv"
	"maps"
	"regexp"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/metric"
)

// longestName is how long the name of a Job may be, which is also the value of a label of its pods.
const longestName = 63

// aDay is how many seconds a Job is kept that nothing else would delete.
const aDay int32 = 24 * 60 * 60

// notInNames is what the name of an object cannot have.
var notInNames = regexp.MustCompile(`[^a-z0-9-]+`)

// Name is the name of the Job for a measurement: the AnalysisRun's UID, the metric and the number. The metric's name is cut where it is
// too long; a hash of it then tells those apart that begin alike.
func Name(r metric.Request) string {
	before, behind := string(r.Run.UID)+".", fmt.Sprintf(".%d", r.Number)
	name := strings.Trim(notInNames.ReplaceAllString(strings.ToLower(r.Metric.Name), "-"), "-")
	if room := longestName - len(before) - len(behind); name != r.Metric.Name || len(name) > room {
		h := fnv.New32a()
		_, _ = h.Write([]byte(r.Metric.Name)) // it cannot fail
		suffix := fmt.Sprintf("%08x", h.Sum32())
		name = strings.Trim(name[:min(len(name), max(0, room-len(suffix)-1))]+"-"+suffix, "-")
	}
	return before + name + behind
}

// newJob is the Job that a metric asks for. Of the AnalysisRun's labels it gets none but the one that links it: Services, autoscalers and
// disruption budgets select pods by the others. One that is not allowed where it is to run is an error.
func (p Provider) newJob(r metric.Request, at place) (*batchv1.Job, error) {
	wanted := r.Metric.Provider.Job.DeepCopy()
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Name: at.name, Namespace: at.namespace,
			Labels:      maps.Clone(wanted.Metadata.Labels),
			Annotations: maps.Clone(wanted.Metadata.Annotations),
		},
		Spec: wanted.Spec,
	}
	if job.Labels == nil {
		job.Labels = map[string]string{}
	}
	if job.Annotations == nil {
		job.Annotations = map[string]string{}
	}
	job.Labels[v1alpha1.AnalysisRunUIDLabel] = string(r.Run.UID)
	job.Annotations[v1alpha1.AnalysisRunNameAnnotation] = r.Run.Name
	job.Annotations[v1alpha1.AnalysisRunNamespaceAnnotation] = r.Run.Namespace
	job.Annotations[v1alpha1.AnalysisRunMetricNameAnnotation] = r.Metric.Name
	switch {
	case p.beside(r, at.namespace):
		job.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(
			&metav1.ObjectMeta{Name: r.Run.Name, UID: r.Run.UID}, v1alpha1.AnalysisRunGVK)}
	case job.Spec.TTLSecondsAfterFinished == nil: // without an owner it has to go by itself
		job.Spec.TTLSecondsAfterFinished = new(aDay)
	}
	if job.Spec.BackoffLimit == nil {
		job.Spec.BackoffLimit = new(int32(0))
	}
	template := &job.Spec.Template
	if template.Labels == nil {
		template.Labels = map[string]string{}
	}
	template.Labels[v1alpha1.AnalysisRunUIDLabel] = string(r.Run.UID)
	if template.Spec.RestartPolicy == "" {
		template.Spec.RestartPolicy = corev1.RestartPolicyNever // the default of pods cannot be that of a Job's
	}
	if p.beside(r, at.namespace) || p.Unconfined {
		return job, nil
	}
	return job, confine(job)
}
