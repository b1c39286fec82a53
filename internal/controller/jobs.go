package controller

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/sluice-delivery/sluice/internal/metric/job"
)

// The controller's environment variables about Jobs that are measurements.
const (
	// JobKubeconfigVariable is the path of a kubeconfig of the cluster where they run, or "in-cluster"; without it they run beside the
	// AnalysisRuns.
	JobKubeconfigVariable = "ARGO_ROLLOUTS_ANALYSIS_JOB_KUBECONFIG"
	// JobNamespaceVariable is the namespace where they run; without it that of the AnalysisRun.
	JobNamespaceVariable = "ARGO_ROLLOUTS_ANALYSIS_JOB_NAMESPACE"
)

// newJobs returns the provider of measurements that are Jobs.
func newJobs(mgr manager.Manager, o Options) (job.Provider, error) {
	provider := job.Provider{
		Clock: clock.RealClock{}, Namespace: o.JobNamespace, Unconfined: o.AllowUnconfinedJobs, Jobs: jobs{writer: mgr.GetClient(), live: mgr.GetAPIReader()},
	}
	if !o.jobsElsewhere() {
		return provider, nil
	}
	config, err := o.jobCluster()
	if err != nil {
		return provider, err
	}
	config.UserAgent = mgr.GetConfig().UserAgent
	other, err := client.New(config, client.Options{Scheme: mgr.GetScheme()})
	if err != nil {
		return provider, fmt.Errorf("$%s %q: %w", JobKubeconfigVariable, o.JobKubeconfig, err)
	}
	provider.Jobs, provider.Elsewhere = jobs{writer: other, live: other}, true
	return provider, nil
}

// jobsElsewhere reports whether Jobs run in another cluster than the AnalysisRuns.
func (o Options) jobsElsewhere() bool {
	return o.JobKubeconfig != "" && o.JobKubeconfig != "in-cluster"
}

// jobCluster is the access to that cluster.
func (o Options) jobCluster() (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", o.JobKubeconfig)
	if err != nil {
		return nil, fmt.Errorf("$%s %q is not a kubeconfig: %w", JobKubeconfigVariable, o.JobKubeconfig, err)
	}
	return config, nil
}

// jobs is the job provider's access to a cluster. Nothing of it is cached: Jobs are few, and looked at seldom.
type jobs struct {
	writer client.Writer
	live   client.Reader
}

// Create creates a Job.
func (j jobs) Create(ctx context.Context, job *batchv1.Job) error { return j.writer.Create(ctx, job) }

// Get reads a Job.
func (j jobs) Get(ctx context.Context, namespace, name string) (*batchv1.Job, error) {
	var job batchv1.Job
	if err := j.live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &job); err != nil {
		return nil, err
	}
	return &job, nil
}

// Delete deletes a Job when its pods are gone, if it still is the object that was read.
func (j jobs) Delete(ctx context.Context, job *batchv1.Job) error {
	return j.writer.Delete(ctx, job.DeepCopy(), client.PropagationPolicy(metav1.DeletePropagationForeground), client.Preconditions{UID: &job.UID})
}

// Pods are the pods of a Job.
func (j jobs) Pods(ctx context.Context, job *batchv1.Job) ([]corev1.Pod, error) {
	var pods corev1.PodList
	err := j.live.List(ctx, &pods, client.InNamespace(job.Namespace), client.MatchingLabels{batchv1.JobNameLabel: job.Name})
	return pods.Items, err
}
