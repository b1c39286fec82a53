package docs_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/yaml"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/metric"
	"github.com/sluice-delivery/sluice/internal/metric/job"
	"github.com/sluice-delivery/sluice/internal/metric/metrictest"
)

// oneJob is a cluster with at most one Job.
type oneJob struct {
	job     *batchv1.Job
	pods    []corev1.Pod
	refuses error
}

var jobs = schema.GroupResource{Group: "batch", Resource: "jobs"}

func (w *oneJob) Create(_ context.Context, job *batchv1.Job) error {
	if w.refuses == nil {
		w.job = job
	}
	return w.refuses
}

func (w *oneJob) Get(_ context.Context, _, name string) (*batchv1.Job, error) {
	if w.job == nil {
		return nil, apierrors.NewNotFound(jobs, name)
	}
	return w.job, nil
}

func (w *oneJob) Delete(context.Context, *batchv1.Job) error {
	w.job = nil
	return nil
}

func (w *oneJob) Pods(context.Context, *batchv1.Job) ([]corev1.Pod, error) { return w.pods, nil }

func container(state corev1.ContainerState) []corev1.Pod {
	return []corev1.Pod{{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "smoke", State: state}}}}}
}

func ended(kind batchv1.JobConditionType, reason, message string) func(*oneJob) {
	return func(w *oneJob) {
		w.job.Status.Conditions = []batchv1.JobCondition{{Type: kind, Status: corev1.ConditionTrue, Reason: reason, Message: message}}
	}
}

// fates are what may become of a Job.
var fates = []struct {
	what   string
	begins error
	become func(*oneJob)
}{
	{"it completes", nil, ended(batchv1.JobComplete, "CompletionsReached", "")},
	{"its container ends with exit code 3", nil, func(w *oneJob) {
		ended(batchv1.JobFailed, "BackoffLimitExceeded", "Job has reached the specified backoff limit")(w)
		w.pods = container(corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 3, Reason: "Error", Message: "2 of 40 orders failed"}})
	}},
	{"it exceeds `activeDeadlineSeconds`", nil, ended(batchv1.JobFailed, "DeadlineExceeded", "Job was active longer than specified deadline")},
	{"its pods are not ready yet", nil, func(*oneJob) {}},
	{"it runs", nil, func(w *oneJob) { w.job.Status.Ready = new(int32(1)) }},
	{"its image cannot be pulled; it is deleted", nil, func(w *oneJob) {
		w.pods = container(corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "no such image"}})
	}},
	{"someone deletes it", nil, func(w *oneJob) { w.job = nil }},
	{"it cannot be created", apierrors.NewForbidden(jobs, "NAME", errors.New("the quota of the namespace is used up")), nil},
}

// TestJobPage runs the example of the page as a Job, and holds the page to the Job and to the measurements. With -rewrite it writes them into the page.
func TestJobPage(t *testing.T) {
	const page = "providers/job.md"
	content, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var template v1alpha1.AnalysisTemplate
	if err := yaml.UnmarshalStrict([]byte(fenced.FindStringSubmatch(string(content))[2]), &template); err != nil {
		t.Fatal(err)
	}
	r := metric.Request{Run: metric.Run{Namespace: "shop", Name: "web-2-smoke", UID: "0a1b2c3d"}, Metric: template.Spec.Metrics[0], Number: 1}
	var created []byte
	table := "<!-- answers -->\n| the Job | measurement |\n|---|---|\n"
	for _, fate := range fates {
		w := &oneJob{refuses: fate.begins}
		p := job.Provider{Clock: clocktesting.NewFakePassiveClock(metrictest.Now), Jobs: w}
		reading, err := p.Measure(t.Context(), r)
		for _, become := range []func(*oneJob){nil, fate.become} {
			if err != nil || become == nil && w.job != nil {
				break
			}
			if become != nil {
				become(w)
			}
			begun := r
			begun.Begun = &v1alpha1.Measurement{Phase: reading.Phase, Metadata: reading.Metadata, StartedAt: new(metav1.NewTime(metrictest.Now))}
			reading, err = p.Resume(t.Context(), begun)
			if become == nil && w.job != nil {
				if created, err = yaml.Marshal(w.job); err != nil {
					t.Fatal(err)
				}
			}
		}
		result := fmt.Sprintf("%s: %s", reading.Phase, reading.Message)
		if err != nil {
			result = "Error: " + err.Error()
		}
		table += fmt.Sprintf("| %s | %s |\n", fate.what, strings.TrimSuffix(strings.ReplaceAll(result, job.Name(r), "NAME"), ": "))
	}
	if !strings.Contains(table, "| it completes | Successful |") {
		t.Errorf("the example is not successful:\n%s", table)
	}
	text, _, _ := strings.Cut(string(created), "status:")
	want := answers.ReplaceAllLiteralString(replaceText(string(content), text), table+"<!-- end of answers -->")
	if flag.Lookup("rewrite").Value.String() == "true" {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if string(content) != want {
		t.Errorf("%s is not what the provider does; rewrite it with go test ./docs -run TestJobPage -rewrite\n%s", page, want)
	}
}
