package job

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/metric"
)

// Jobs is what the provider needs of a cluster. Errors are those of the API server.
type Jobs interface {
	Create(ctx context.Context, job *batchv1.Job) error
	Get(ctx context.Context, namespace, name string) (*batchv1.Job, error)
	// Delete deletes a Job and its pods, the pods first, if it still is the object with the Job's UID.
	Delete(ctx context.Context, job *batchv1.Job) error
	// Pods are those of a Job.
	Pods(ctx context.Context, job *batchv1.Job) ([]corev1.Pod, error)
}

// The metadata of a measurement.
const (
	// NameKey is the name of the Job.
	NameKey = "job-name"
	// NamespaceKey is its namespace.
	NamespaceKey = "job-namespace"
	// createdKey is there once the Job has been created: from then on a Job that is missing was deleted.
	createdKey = "job-created"
)

// Provider runs Jobs.
type Provider struct {
	Clock clock.PassiveClock
	Jobs  Jobs
	// Namespace is where Jobs run; empty for that of the AnalysisRun.
	Namespace string
	// Elsewhere: they run in another cluster than the AnalysisRuns are in.
	Elsewhere bool
	// Unconfined: Jobs may run with any pod spec and service account where they do not run in the AnalysisRun's own namespace.
	Unconfined bool
}

// Measure says under which name the Job will run. Only when that is recorded is it created.
func (p Provider) Measure(_ context.Context, r metric.Request) (metric.Reading, error) {
	if _, err := p.newJob(r, p.derive(r)); err != nil {
		return metric.Reading{}, err
	}
	return metric.Reading{
		Phase: v1alpha1.AnalysisPhaseRunning, ResumeAt: p.Clock.Now(), Message: "the Job is about to be created",
		Metadata: p.derive(r).metadata(),
	}, nil
}

// Resume creates the Job, or looks how it is doing.
func (p Provider) Resume(ctx context.Context, r metric.Request) (metric.Reading, error) {
	job, err := p.find(ctx, r)
	switch {
	case apierrors.IsNotFound(err) && r.Begun.Metadata[createdKey] != "":
		return metric.Reading{}, fmt.Errorf("Job %s was deleted before it ended", p.derive(r)) //nolint:staticcheck // a kind
	case apierrors.IsNotFound(err):
		return p.create(ctx, r)
	case err != nil:
		return p.still(r, p.derive(r), fmt.Sprintf("the Job cannot be read: %s", err)), nil // it goes on meanwhile
	case !p.owns(r, job):
		return metric.Reading{}, fmt.Errorf("Job %s belongs to another owner: delete or rename it", placeOf(job)) //nolint:staticcheck // a kind
	}
	return p.look(ctx, r, job)
}

// create creates the Job where it belongs, wherever the status says that it is.
func (p Provider) create(ctx context.Context, r metric.Request) (metric.Reading, error) {
	at := p.derive(r)
	job, err := p.newJob(r, at)
	if err != nil {
		return metric.Reading{}, err
	}
	err = p.Jobs.Create(ctx, job)
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return metric.Reading{}, fmt.Errorf("create Job %s: %w", at, err)
	}
	return p.still(r, at, "the Job has been created"), nil
}

// look tells from a Job how the measurement is doing.
func (p Provider) look(ctx context.Context, r metric.Request, job *batchv1.Job) (metric.Reading, error) {
	at := placeOf(job)
	reading := metric.Reading{Metadata: withPlace(r, at)}
	for _, c := range job.Status.Conditions {
		if c.Status != corev1.ConditionTrue {
			continue
		}
		switch c.Type {
		case batchv1.JobComplete:
			reading.Phase = v1alpha1.AnalysisPhaseSuccessful
			return reading, nil
		case batchv1.JobFailed:
			reading.Phase = v1alpha1.AnalysisPhaseFailed
			reading.Message = fmt.Sprintf("Job %s failed: %s: %s", job.Name, c.Reason, c.Message)
			if pods, err := p.Jobs.Pods(ctx, job); err == nil { // without them there is less to tell
				reading.Message += lastWords(pods)
			}
			return reading, nil
		default:
		}
	}
	if job.Status.Ready != nil && *job.Status.Ready > 0 {
		return p.still(r, at, "the Job runs"), nil
	}
	pods, err := p.Jobs.Pods(ctx, job)
	if err != nil {
		return p.still(r, at, fmt.Sprintf("the pods of the Job cannot be read: %s", err)), nil
	}
	if trouble := imageTrouble(pods); trouble != "" {
		if err := p.Jobs.Delete(ctx, job); err != nil && !apierrors.IsNotFound(err) {
			return p.still(r, at, fmt.Sprintf("the Job cannot be stopped: %s", err)), nil
		}
		reading.Phase, reading.Message = v1alpha1.AnalysisPhaseInconclusive, fmt.Sprintf("Job %s never ran: %s", job.Name, trouble)
		return reading, nil
	}
	return p.still(r, at, "the Job waits for its pods"), nil
}

// still is a measurement that goes on. The longer it takes, the more seldom it is looked at.
func (p Provider) still(r metric.Request, at place, message string) metric.Reading {
	now := p.Clock.Now()
	elapsed := time.Duration(0)
	if r.Begun.StartedAt != nil {
		elapsed = now.Sub(r.Begun.StartedAt.Time)
	}
	metadata := withPlace(r, at)
	metadata[createdKey] = "true"
	return metric.Reading{
		Phase: v1alpha1.AnalysisPhaseRunning, ResumeAt: now.Add(pollAfter(elapsed)), Message: message, Metadata: metadata,
	}
}

// pollAfter is how long to leave a Job alone that has run for so long: the root of twice the seconds, and at least one.
func pollAfter(elapsed time.Duration) time.Duration {
	return time.Duration(max(1, math.Sqrt(2*elapsed.Seconds())) * float64(time.Second))
}

// Stop deletes the Job. One that is not this measurement's is left alone, whatever the status says.
func (p Provider) Stop(ctx context.Context, r metric.Request) error {
	job, err := p.find(ctx, r)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("read Job %s: %w", p.derive(r), err)
	case !p.owns(r, job):
		return nil
	}
	if err := p.Jobs.Delete(ctx, job); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete Job %s: %w", placeOf(job), err)
	}
	return nil
}

// Forget deletes the Job too: its measurement is not kept.
func (p Provider) Forget(ctx context.Context, r metric.Request) error { return p.Stop(ctx, r) }

// lastWords are how the container ended that ended badly last.
func lastWords(pods []corev1.Pod) string {
	var last *corev1.ContainerStateTerminated
	name := ""
	for i := range pods {
		for _, s := range slices.Concat(pods[i].Status.InitContainerStatuses, pods[i].Status.ContainerStatuses) {
			t := s.State.Terminated
			if t != nil && t.ExitCode != 0 && (last == nil || last.FinishedAt.Before(&t.FinishedAt)) {
				last, name = t, s.Name
			}
		}
	}
	if last == nil {
		return ""
	}
	text := fmt.Sprintf("; container %s ended with exit code %d (%s)", name, last.ExitCode, last.Reason)
	if message := strings.TrimSpace(last.Message); message != "" {
		text += ": " + message
	}
	return text
}

// imageTrouble is why an image of a pod cannot be had, empty if that is not known to be so. ErrImagePull is not among the reasons: a first
// try may fail and the next succeed.
func imageTrouble(pods []corev1.Pod) string {
	reasons := []string{"ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError", "RegistryUnavailable"}
	for i := range pods {
		for _, s := range slices.Concat(pods[i].Status.InitContainerStatuses, pods[i].Status.ContainerStatuses) {
			if w := s.State.Waiting; w != nil && slices.Contains(reasons, w.Reason) {
				return fmt.Sprintf("container %s: %s: %s", s.Name, w.Reason, w.Message)
			}
		}
	}
	return ""
}
