package job

import (
	"errors"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

// UnconfinedFlag is the controller's flag that sets [Provider.Unconfined].
const UnconfinedFlag = "--allow-unconfined-jobs"

// remedy is what a tenant, or the operator, can do about a Job that is refused.
const remedy = "; the namespace where Jobs run is not the AnalysisRun's own, and is shared. Change the field, or have the operator set " + UnconfinedFlag

// confine holds a Job that runs in a namespace shared by many AnalysisRuns to what every tenant may do: pods of the Pod Security Standard
// "restricted", without the identity of a service account. In the AnalysisRun's own namespace that is the namespace's business.
func confine(job *batchv1.Job) error {
	template := &job.Spec.Template
	if err := withoutIdentity(&template.Spec); err != nil {
		return err
	}
	template.Spec.AutomountServiceAccountToken = new(false)
	restricted, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		return fmt.Errorf("the Pod Security Standards: %w", err)
	}
	version := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	found := policy.AggregateCheckResults(restricted.EvaluatePod(version, &template.ObjectMeta, &template.Spec))
	if !found.Allowed {
		return fmt.Errorf("provider.job.spec.template does not meet the Pod Security Standard \"restricted\": %s%s", found.ForbiddenDetail(), remedy)
	}
	return nil
}

// withoutIdentity refuses pods that act as a service account of the namespace.
func withoutIdentity(spec *corev1.PodSpec) error {
	const field = "provider.job.spec.template.spec."
	const ask = "the Job would act as a service account that is not its tenant's"
	if name := spec.ServiceAccountName; name != "" && name != "default" {
		return fmt.Errorf("%sserviceAccountName %q: %s%s", field, name, ask, remedy)
	}
	if name := spec.DeprecatedServiceAccount; name != "" && name != "default" {
		return fmt.Errorf("%sserviceAccount %q: %s%s", field, name, ask, remedy)
	}
	if mount := spec.AutomountServiceAccountToken; mount != nil && *mount {
		return errors.New(field + "automountServiceAccountToken true: " + ask + remedy)
	}
	for i, volume := range spec.Volumes {
		if volume.Projected == nil {
			continue
		}
		for j, source := range volume.Projected.Sources {
			if source.ServiceAccountToken != nil {
				return fmt.Errorf("%svolumes[%d].projected.sources[%d].serviceAccountToken: %s%s", field, i, j, ask, remedy)
			}
		}
	}
	return nil
}
