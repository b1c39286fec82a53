// Command job is a step plugin: it runs a Job in the Rollout's namespace, and lets the update continue when the Job has succeeded. If the Job
// fails, the step fails, and the update is aborted. A sample to begin one's own with.
//
//	steps:
//	  - plugin:
//	      name: samples/job
//	      config:
//	        backoffLimit: 0
//	        activeDeadlineSeconds: 600
//	        template: {spec: {containers: [{name: migrate, image: "example.com/migrate:1"}]}}
//
// The config is the spec of a Job. The controller's service account must be allowed to get, create and delete Jobs; it is for analyses.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/sluice-delivery/sluice/api/plugin"
	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

const (
	// patience is how long the requests of one call may take.
	patience = 30 * time.Second
	// again is when to ask for a Job that runs; it must be more than ten seconds.
	again = 11 * time.Second
	// longestPrefix is how much of the Rollout's name a Job's name begins with.
	longestPrefix = 40
)

func main() { plugin.ServeStep(&jobs{}) }

type jobs struct{ client kubernetes.Interface }

// Init connects to the cluster: by $KUBECONFIG, or by the pod's service account.
func (j *jobs) Init() error {
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(clientcmd.NewDefaultClientConfigLoadingRules(), nil).ClientConfig()
	if err != nil {
		return err
	}
	j.client, err = kubernetes.NewForConfig(config)
	return err
}

// Run creates the Job, or looks how it is doing. A call whose answer was lost comes again, and finds the Job by its name.
func (j *jobs) Run(ro *v1alpha1.Rollout, c plugin.StepContext) (plugin.StepResult, error) {
	spec, err := read(c.Config)
	if err != nil {
		return failed("config: %s", err), nil
	}
	entry := current(ro, c.PluginName)
	if entry == nil {
		return plugin.StepResult{}, fmt.Errorf("the status of %s has no record of this step", ro.Name)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	name := nameOf(ro, *entry)
	job, err := j.client.BatchV1().Jobs(ro.Namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		job, err = j.client.BatchV1().Jobs(ro.Namespace).Create(ctx, jobOf(ro, name, spec), metav1.CreateOptions{})
	}
	switch {
	case apierrors.IsInvalid(err), apierrors.IsForbidden(err): // no later call would succeed
		return failed("%s", err), nil
	case err != nil:
		return plugin.StepResult{}, err
	}
	return report(job), nil
}

func failed(format string, args ...any) plugin.StepResult {
	return plugin.StepResult{Phase: "Failed", Message: fmt.Sprintf(format, args...)}
}

func read(config []byte) (batchv1.JobSpec, error) {
	var spec batchv1.JobSpec
	decoder := json.NewDecoder(bytes.NewReader(config))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&spec); err != nil {
		return spec, fmt.Errorf("%w: write the spec of a Job", err)
	}
	if spec.Template.Spec.RestartPolicy == "" {
		spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	}
	return spec, nil
}

// current is the record of the step that is running.
func current(ro *v1alpha1.Rollout, name string) *v1alpha1.StepPluginStatus {
	at := int32(0) // the protocol does not send zeros: a pointer to one arrives as nil
	if ro.Status.CurrentStepIndex != nil {
		at = *ro.Status.CurrentStepIndex
	}
	for i, e := range ro.Status.Canary.StepPluginStatuses {
		if e.Operation == v1alpha1.StepPluginRun && e.Name == name && e.FinishedAt == nil && e.Index == at {
			return &ro.Status.Canary.StepPluginStatuses[i]
		}
	}
	return nil
}

// nameOf is the name of a step's Job: the same whenever this step is asked for, and another one when the update is tried again.
func nameOf(ro *v1alpha1.Rollout, e v1alpha1.StepPluginStatus) string {
	began := int64(0)
	if e.StartedAt != nil {
		began = e.StartedAt.Unix()
	}
	sum := fnv.New64a()
	_, _ = fmt.Fprint(sum, ro.UID, ro.Status.CurrentPodHash, e.Index, began) // a hash takes all
	return fmt.Sprintf("%s-%016x", ro.Name[:min(len(ro.Name), longestPrefix)], sum.Sum64())
}

func jobOf(ro *v1alpha1.Rollout, name string, spec batchv1.JobSpec) *batchv1.Job {
	owner := metav1.OwnerReference{APIVersion: "argoproj.io/v1alpha1", Kind: "Rollout", Name: ro.Name, UID: ro.UID} // it goes with the Rollout
	return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: []metav1.OwnerReference{owner}}, Spec: spec}
}

// report says how a Job is doing. The state is for people, who find the Job by it.
func report(job *batchv1.Job) plugin.StepResult {
	state, _ := json.Marshal(map[string]string{"job": job.Name}) // it can be written
	result := plugin.StepResult{Phase: "Running", Message: fmt.Sprintf("Job %s runs", job.Name), RequeueAfter: again, Status: state}
	for _, c := range job.Status.Conditions {
		switch {
		case c.Status != corev1.ConditionTrue:
		case c.Type == batchv1.JobComplete:
			result.Phase, result.Message = "Successful", fmt.Sprintf("Job %s has succeeded", job.Name)
		case c.Type == batchv1.JobFailed:
			result.Phase, result.Message = "Failed", fmt.Sprintf("Job %s has failed: %s", job.Name, c.Message)
		}
	}
	return result
}

// Terminate deletes the Job that runs.
func (j *jobs) Terminate(ro *v1alpha1.Rollout, c plugin.StepContext) (plugin.StepResult, error) {
	return j.remove(ro, c.PluginName, func(e v1alpha1.StepPluginStatus) bool { return e.Phase == v1alpha1.StepPluginRunning })
}

// Abort deletes the Jobs of the update, those too whose answer was lost. It cannot undo what they did.
func (j *jobs) Abort(ro *v1alpha1.Rollout, c plugin.StepContext) (plugin.StepResult, error) {
	return j.remove(ro, c.PluginName, func(v1alpha1.StepPluginStatus) bool { return true })
}

func (j *jobs) remove(ro *v1alpha1.Rollout, plugged string, which func(v1alpha1.StepPluginStatus) bool) (plugin.StepResult, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	policy := metav1.DeletePropagationBackground
	for _, e := range ro.Status.Canary.StepPluginStatuses {
		if e.Operation != v1alpha1.StepPluginRun || e.Name != plugged || !which(e) {
			continue
		}
		err := j.client.BatchV1().Jobs(ro.Namespace).Delete(ctx, nameOf(ro, e), metav1.DeleteOptions{PropagationPolicy: &policy})
		if err != nil && !apierrors.IsNotFound(err) {
			return plugin.StepResult{}, err
		}
	}
	return plugin.StepResult{Phase: "Successful", Message: "the Job is deleted"}, nil
}
