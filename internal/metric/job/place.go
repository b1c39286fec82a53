package job

import (
	"cmp"
	"context"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/metric"
)

// place is where a Job is.
type place struct{ namespace, name string }

func (at place) String() string { return at.namespace + "/" + at.name }

func (at place) metadata() map[string]string {
	return map[string]string{NameKey: at.name, NamespaceKey: at.namespace}
}

func placeOf(job *batchv1.Job) place { return place{job.Namespace, job.Name} }

// withPlace is the metadata of a measurement that has started, with the cluster and namespace where its Job actually is.
func withPlace(r metric.Request, at place) map[string]string {
	metadata := at.metadata()
	for key, value := range r.Begun.Metadata {
		if key != NameKey && key != NamespaceKey {
			metadata[key] = value
		}
	}
	return metadata
}

// derive is where the Job of a measurement is created. It follows from the AnalysisRun, the metric, the number of the measurement and this
// controller's configuration, and from nothing that a status says: who may write AnalysisRuns can write any status.
func (p Provider) derive(r metric.Request) place {
	return place{cmp.Or(p.Namespace, r.Run.Namespace), Name(r)}
}

// recorded is where the status says that the Job is, for a measurement that another controller began: Argo Rollouts, or this one with
// another configuration. It is believed only as far as it could be true.
func (p Provider) recorded(r metric.Request) (at place, believed bool) {
	at = place{r.Begun.Metadata[NamespaceKey], r.Begun.Metadata[NameKey]}
	if at.namespace != r.Run.Namespace && (p.Namespace == "" || at.namespace != p.Namespace) {
		return place{}, false
	}
	return at, at.name == Name(r) || isUpstreamName(r, at.name)
}

// isUpstreamName reports whether Argo Rollouts gives a measurement of the metric this name: UID, metric and number, cut after 63 bytes.
func isUpstreamName(r metric.Request, name string) bool {
	prefix := string(r.Run.UID) + "." + r.Metric.Name + "."
	if len(prefix) >= longestName {
		return name == prefix[:longestName]
	}
	number, found := strings.CutPrefix(name, prefix)
	_, err := strconv.ParseUint(number, 10, 32)
	return found && err == nil && len(name) <= longestName
}

// find reads the Job of a measurement that has begun. The error is NotFound where there is none.
func (p Provider) find(ctx context.Context, r metric.Request) (*batchv1.Job, error) {
	at := p.derive(r)
	if recorded, believed := p.recorded(r); believed && recorded != at {
		if job, err := p.Jobs.Get(ctx, recorded.namespace, recorded.name); !apierrors.IsNotFound(err) {
			return job, err
		}
	}
	return p.Jobs.Get(ctx, at.namespace, at.name)
}

// owns reports whether a Job is the measurement's: controlled by its AnalysisRun where both are in one namespace, and marked with its UID
// where an owner reference cannot be.
func (p Provider) owns(r metric.Request, job *batchv1.Job) bool {
	if p.beside(r, job.Namespace) {
		owner := metav1.GetControllerOfNoCopy(job)
		return owner != nil && owner.UID == r.Run.UID
	}
	return job.Labels[v1alpha1.AnalysisRunUIDLabel] == string(r.Run.UID)
}

// beside reports whether a namespace is that of the AnalysisRun, in the same cluster.
func (p Provider) beside(r metric.Request, namespace string) bool {
	return !p.Elsewhere && namespace == r.Run.Namespace
}
