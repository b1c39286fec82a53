package dashboard

import (
	"fmt"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/view"
)

// rolloutInfo and the types below are the messages of Argo Rollouts' dashboard (wire format). Zero values are left out.
type rolloutInfo struct {
	ObjectMeta     metaInfo              `json:"objectMeta"`
	Status         string                `json:"status,omitempty"`
	Message        string                `json:"message,omitempty"`
	Icon           view.Icon             `json:"icon,omitempty"`
	Strategy       view.Strategy         `json:"strategy,omitempty"`
	Step           string                `json:"step,omitempty"`
	SetWeight      string                `json:"setWeight,omitempty"`
	ActualWeight   string                `json:"actualWeight,omitempty"`
	Ready          int32                 `json:"ready,omitempty"`
	Current        int32                 `json:"current,omitempty"`
	Desired        int32                 `json:"desired,omitempty"`
	Updated        int32                 `json:"updated,omitempty"`
	Available      int32                 `json:"available,omitempty"`
	RestartedAt    string                `json:"restartedAt,omitempty"`
	Generation     string                `json:"generation,omitempty"`
	ReplicaSets    []replicaSetInfo      `json:"replicaSets,omitempty"`
	Experiments    []experimentInfo      `json:"experiments,omitempty"`
	AnalysisRuns   []analysisRunInfo     `json:"analysisRuns,omitempty"`
	Containers     []containerInfo       `json:"containers,omitempty"`
	InitContainers []containerInfo       `json:"initContainers,omitempty"`
	Steps          []v1alpha1.CanaryStep `json:"steps,omitempty"`

	// refers: the template is another object's.
	refers bool
}

type metaInfo struct {
	Name              string            `json:"name,omitempty"`
	Namespace         string            `json:"namespace,omitempty"`
	UID               string            `json:"uid,omitempty"`
	ResourceVersion   string            `json:"resourceVersion,omitempty"`
	Generation        int64             `json:"generation,omitempty"`
	CreationTimestamp string            `json:"creationTimestamp,omitempty"`
	Labels            map[string]string `json:"labels,omitempty"`
	Annotations       map[string]string `json:"annotations,omitempty"`
}

type containerInfo struct {
	Name  string `json:"name,omitempty"`
	Image string `json:"image,omitempty"`
}

type replicaSetInfo struct {
	ObjectMeta          metaInfo  `json:"objectMeta"`
	Status              string    `json:"status,omitempty"`
	Icon                view.Icon `json:"icon,omitempty"`
	Revision            int64     `json:"revision,omitempty"`
	Stable              bool      `json:"stable,omitempty"`
	Canary              bool      `json:"canary,omitempty"`
	Active              bool      `json:"active,omitempty"`
	Preview             bool      `json:"preview,omitempty"`
	Ping                bool      `json:"ping,omitempty"`
	Pong                bool      `json:"pong,omitempty"`
	Replicas            int32     `json:"replicas,omitempty"`
	Available           int32     `json:"available,omitempty"`
	Template            string    `json:"template,omitempty"`
	ScaleDownDeadline   string    `json:"scaleDownDeadline,omitempty"`
	Images              []string  `json:"images,omitempty"`
	InitContainerImages []string  `json:"initContainerImages,omitempty"`
	Pods                []podInfo `json:"pods,omitempty"`
}

type podInfo struct {
	ObjectMeta metaInfo  `json:"objectMeta"`
	Status     string    `json:"status,omitempty"`
	Icon       view.Icon `json:"icon,omitempty"`
	Ready      string    `json:"ready,omitempty"`
	Restarts   int       `json:"restarts,omitempty"`
}

type experimentInfo struct {
	ObjectMeta   metaInfo          `json:"objectMeta"`
	Icon         view.Icon         `json:"icon,omitempty"`
	Revision     int64             `json:"revision,omitempty"`
	Status       string            `json:"status,omitempty"`
	Message      string            `json:"message,omitempty"`
	ReplicaSets  []replicaSetInfo  `json:"replicaSets,omitempty"`
	AnalysisRuns []analysisRunInfo `json:"analysisRuns,omitempty"`
}

type analysisRunInfo struct {
	ObjectMeta   metaInfo       `json:"objectMeta"`
	Icon         view.Icon      `json:"icon,omitempty"`
	Revision     int64          `json:"revision,omitempty"`
	Status       string         `json:"status,omitempty"`
	Successful   int32          `json:"successful,omitempty"`
	Failed       int32          `json:"failed,omitempty"`
	Inconclusive int32          `json:"inconclusive,omitempty"`
	Error        int32          `json:"error,omitempty"`
	Jobs         []jobInfo      `json:"jobs,omitempty"`
	NonJobInfo   []measuredInfo `json:"nonJobInfo,omitempty"`
	Metrics      []metricInfo   `json:"metrics,omitempty"`
	// SpecAndStatus is what there is to say; the rest is what older programs read.
	SpecAndStatus specAndStatus `json:"specAndStatus"`
}

type specAndStatus struct {
	Spec   v1alpha1.AnalysisRunSpec   `json:"spec"`
	Status v1alpha1.AnalysisRunStatus `json:"status"`
}

type jobInfo struct {
	ObjectMeta metaInfo  `json:"objectMeta"`
	Status     string    `json:"status,omitempty"`
	Icon       view.Icon `json:"icon,omitempty"`
	MetricName string    `json:"metricName,omitempty"`
	StartedAt  string    `json:"startedAt,omitempty"`
}

type measuredInfo struct {
	Value      string `json:"value,omitempty"`
	Status     string `json:"status,omitempty"`
	MetricName string `json:"metricName,omitempty"`
	StartedAt  string `json:"startedAt,omitempty"`
}

type metricInfo struct {
	Name              string `json:"name,omitempty"`
	SuccessCondition  string `json:"successCondition,omitempty"`
	Count             int32  `json:"count,omitempty"`
	InconclusiveLimit int32  `json:"inconclusiveLimit,omitempty"`
	FailureLimit      int32  `json:"failureLimit,omitempty"`
}

// jobNameKey is where a measurement of a job metric names its Job.
const jobNameKey = "job-name"

func infoOf(o view.Objects, r view.Rollout) rolloutInfo {
	ro := o.Rollout
	info := rolloutInfo{
		ObjectMeta: metaOf(ro), Status: r.Status.Text, Message: r.Status.Message, Icon: r.Status.Icon, Strategy: r.Strategy, Step: stepText(r),
		Ready: r.Replicas.Ready, Current: r.Replicas.Current, Desired: r.Replicas.Desired, Updated: r.Replicas.Updated, Available: r.Replicas.Available,
		RestartedAt: "Never", Generation: ro.Status.ObservedGeneration, refers: ro.Spec.WorkloadRef != nil,
		Containers: containerInfos(ro.Spec.Template.Spec.Containers), InitContainers: containerInfos(ro.Spec.Template.Spec.InitContainers),
	}
	if ro.Status.RestartedAt != nil {
		info.RestartedAt = ro.Status.RestartedAt.String()
	}
	if r.Strategy == view.Canary {
		info.SetWeight, info.ActualWeight = strconv.Itoa(int(r.SetWeight)), strconv.Itoa(int(r.ActualWeight))
		if ro.Status.CurrentStepIndex != nil {
			info.Steps = ro.Spec.Strategy.Canary.Steps
		}
	}
	for _, revision := range r.Revisions {
		for _, rs := range revision.ReplicaSets {
			info.ReplicaSets = append(info.ReplicaSets, replicaSetInfoOf(o, rs, revision.Number))
		}
		for _, exp := range revision.Experiments {
			info.Experiments = append(info.Experiments, experimentInfoOf(o, exp, revision.Number))
		}
		for _, run := range revision.AnalysisRuns {
			info.AnalysisRuns = append(info.AnalysisRuns, analysisRunInfoOf(o, run, revision.Number))
		}
	}
	return info
}

func metaOf(o metav1.Object) metaInfo {
	created := o.GetCreationTimestamp()
	return metaInfo{
		Name: o.GetName(), Namespace: o.GetNamespace(), UID: string(o.GetUID()), ResourceVersion: o.GetResourceVersion(), Generation: o.GetGeneration(),
		CreationTimestamp: timeText(&created), Labels: o.GetLabels(), Annotations: o.GetAnnotations(),
	}
}

func containerInfos(all []corev1.Container) []containerInfo {
	var infos []containerInfo
	for i := range all {
		infos = append(infos, containerInfo{all[i].Name, all[i].Image})
	}
	return infos
}

// found is the object of a name; an empty one if there is none, which cannot be for what view has made of these objects.
func found[T any, O interface {
	*T
	metav1.Object
}](all []O, name string) O {
	if i := slices.IndexFunc(all, func(o O) bool { return o.GetName() == name }); i >= 0 {
		return all[i]
	}
	return new(T)
}

func replicaSetInfoOf(o view.Objects, v view.ReplicaSet, revision int64) replicaSetInfo {
	rs := found(o.ReplicaSets, v.Name)
	info := replicaSetInfo{
		ObjectMeta: metaOf(rs), Status: v.Status.Text, Icon: v.Status.Icon, Revision: revision, Replicas: v.Current, Available: v.Available,
		Template: rs.Annotations[v1alpha1.ExperimentTemplateNameAnnotation], ScaleDownDeadline: rs.Annotations[v1alpha1.ScaleDownDeadlineAnnotation], Images: v.Images,
	}
	if v.Status.Icon == view.IconDegraded {
		info.Status, info.Icon = "Progressing", view.IconProgressing
		for _, c := range rs.Status.Conditions {
			if c.Type == appsv1.ReplicaSetReplicaFailure && c.Status == corev1.ConditionTrue {
				info.Status, info.Icon = "ReplicaFailure", view.IconDegraded
			}
		}
	}
	for _, c := range rs.Spec.Template.Spec.InitContainers {
		info.InitContainerImages = append(info.InitContainerImages, c.Image)
	}
	for tag, is := range map[view.Tag]*bool{
		view.TagStable: &info.Stable, view.TagCanary: &info.Canary, view.TagActive: &info.Active, view.TagPreview: &info.Preview, view.TagPing: &info.Ping, view.TagPong: &info.Pong,
	} {
		*is = slices.Contains(v.Tags, tag)
	}
	for _, p := range v.Pods {
		info.Pods = append(info.Pods, podInfo{
			ObjectMeta: metaOf(found(o.Pods, p.Name)), Status: p.Status.Text, Icon: p.Status.Icon, Ready: fmt.Sprintf("%d/%d", p.Ready, p.Containers), Restarts: p.Restarts,
		})
	}
	return info
}

func experimentInfoOf(o view.Objects, v view.Experiment, revision int64) experimentInfo {
	info := experimentInfo{ObjectMeta: metaOf(found(o.Experiments, v.Name)), Icon: v.Status.Icon, Revision: revision, Status: v.Status.Text, Message: v.Status.Message}
	for _, rs := range v.ReplicaSets {
		info.ReplicaSets = append(info.ReplicaSets, replicaSetInfoOf(o, rs, revision))
	}
	for _, run := range v.AnalysisRuns {
		info.AnalysisRuns = append(info.AnalysisRuns, analysisRunInfoOf(o, run, revision))
	}
	return info
}

func analysisRunInfoOf(o view.Objects, v view.AnalysisRun, revision int64) analysisRunInfo {
	run := found(o.AnalysisRuns, v.Name)
	info := analysisRunInfo{
		ObjectMeta: metaOf(run), Icon: v.Status.Icon, Revision: revision, Status: v.Status.Text,
		Successful: v.Tally.Successful, Failed: v.Tally.Failed, Inconclusive: v.Tally.Inconclusive, Error: v.Tally.Error,
		SpecAndStatus: specAndStatus{Spec: run.Spec, Status: run.Status},
	}
	for i := range run.Spec.Metrics {
		m := &run.Spec.Metrics[i]
		one := metricInfo{Name: m.Name, SuccessCondition: m.SuccessCondition}
		one.Count, one.InconclusiveLimit, one.FailureLimit = count(m.Count), count(m.InconclusiveLimit), count(m.FailureLimit)
		info.Metrics = append(info.Metrics, one)
	}
	for _, result := range run.Status.MetricResults {
		for _, m := range result.Measurements {
			if job := m.Metadata[jobNameKey]; job != "" {
				info.Jobs = append(info.Jobs, jobInfo{
					ObjectMeta: metaInfo{Name: job}, Status: string(m.Phase), Icon: view.AnalysisStatus(m.Phase, "").Icon, MetricName: result.Name, StartedAt: timeText(m.StartedAt),
				})
				continue
			}
			info.NonJobInfo = append(info.NonJobInfo, measuredInfo{Value: m.Value, Status: string(m.Phase), MetricName: result.Name, StartedAt: timeText(m.StartedAt)})
		}
	}
	return info
}

// count is a number of measurements; an argument, whose value is not known yet, counts as 0.
func count(n *intstr.IntOrString) int32 {
	if n == nil {
		return 0
	}
	v, err := strconv.ParseInt(n.String(), 10, 32)
	if err != nil {
		return 0
	}
	return int32(v)
}
