package playtest

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
)

// WaitForJobToGo waits until a Job has been deleted.
func (ns *Namespace) WaitForJobToGo(name string) {
	ns.t.Helper()
	var jobs batchv1.JobList
	ns.waitForAll(&jobs, "no Job "+name, func() bool {
		return !slices.ContainsFunc(jobs.Items, func(job batchv1.Job) bool { return job.Name == name })
	})
}
