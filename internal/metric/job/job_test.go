package job

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/metric"
)

var now = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// world is a cluster of one Job.
type world struct {
	job  *batchv1.Job
	pods []corev1.Pod
	// refuses is why no Job can be created.
	refuses error
	deleted int
}

func (w *world) Create(_ context.Context, job *batchv1.Job) error {
	if w.refuses != nil {
		return w.refuses
	}
	if w.job != nil {
		return apierrors.NewAlreadyExists(schema.GroupResource{Resource: "jobs"}, job.Name)
	}
	w.job = job
	return nil
}

func (w *world) Get(_ context.Context, namespace, name string) (*batchv1.Job, error) {
	if w.job == nil || w.job.Namespace != namespace || w.job.Name != name {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "jobs"}, name)
	}
	return w.job, nil
}

func (w *world) Delete(ctx context.Context, job *batchv1.Job) error {
	w.deleted++
	_, err := w.Get(ctx, job.Namespace, job.Name)
	w.job = nil
	return err
}

func (w *world) Pods(context.Context, *batchv1.Job) ([]corev1.Pod, error) { return w.pods, nil }

func request() metric.Request {
	m := v1alpha1.Metric{Name: "load", Provider: v1alpha1.MetricProvider{Job: &v1alpha1.JobMetric{
		Metadata: metav1.ObjectMeta{Labels: map[string]string{"team": "a"}, Annotations: map[string]string{"why": "because"}},
		Spec:     batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "load", Image: "load:1"}}}}},
	}}}
	return metric.Request{Run: metric.Run{Namespace: "shop", Name: "run", UID: "0a1b2c3d-1111-2222-3333-444455556666"}, Metric: m, Number: 2}
}

// begun is a measurement as it is recorded, after so much time.
func begun(r metric.Request, reading metric.Reading) metric.Request {
	r.Begun = &v1alpha1.Measurement{
		Phase: reading.Phase, Metadata: reading.Metadata, StartedAt: new(metav1.NewTime(now)), ResumeAt: new(metav1.NewTime(reading.ResumeAt)),
	}
	return r
}

// start measures until the Job has been created.
func start(t *testing.T, p Provider, r metric.Request) metric.Request {
	t.Helper()
	reading, err := p.Measure(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	r = begun(r, reading)
	if reading, err = p.Resume(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	return begun(r, reading)
}

func TestC39TheJob(t *testing.T) {
	w := &world{}
	start(t, Provider{Clock: testingclock.NewFakePassiveClock(now), Jobs: w}, request())
	uid := "0a1b2c3d-1111-2222-3333-444455556666"
	want := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Name: uid + ".load.2", Namespace: "shop",
			Labels: map[string]string{"team": "a", "analysisrun.argoproj.io/uid": uid},
			Annotations: map[string]string{
				"why": "because", "analysisrun.argoproj.io/name": "run", "analysisrun.argoproj.io/namespace": "shop", "analysisrun.argoproj.io/metric-name": "load",
			},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "argoproj.io/v1alpha1", Kind: "AnalysisRun", Name: "run", UID: "0a1b2c3d-1111-2222-3333-444455556666",
				Controller: new(true), BlockOwnerDeletion: new(true),
			}},
		},
		Spec: batchv1.JobSpec{BackoffLimit: new(int32(0)), Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"analysisrun.argoproj.io/uid": uid}},
			Spec:       corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "load", Image: "load:1"}}},
		}},
	}
	if diff := gocmp.Diff(want, w.job); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAJobElsewhere(t *testing.T) {
	for name, p := range map[string]Provider{
		"another namespace": {Namespace: "jobs", Unconfined: true}, "another cluster": {Elsewhere: true, Unconfined: true},
	} {
		w := &world{}
		p.Clock, p.Jobs = testingclock.NewFakePassiveClock(now), w
		r := start(t, p, request())
		if w.job.Namespace != cmp.Or(p.Namespace, "shop") || r.Begun.Metadata[NamespaceKey] != w.job.Namespace {
			t.Errorf("%s: it is in %s, and %v is told", name, w.job.Namespace, r.Begun.Metadata)
		}
		if len(w.job.OwnerReferences) > 0 || w.job.Spec.TTLSecondsAfterFinished == nil {
			t.Errorf("%s: an owner that is not there would have it collected, and without one it must go by itself: %+v", name, w.job)
		}
	}
}

func TestHowAJobIsDoing(t *testing.T) {
	condition := func(kind batchv1.JobConditionType, reason, message string) batchv1.JobStatus {
		return batchv1.JobStatus{Conditions: []batchv1.JobCondition{{Type: kind, Status: corev1.ConditionTrue, Reason: reason, Message: message}}}
	}
	waits := func(reason string) []corev1.Pod {
		return []corev1.Pod{{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
			Name: "load", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: "no such image"}},
		}}}}}
	}
	ended := []corev1.Pod{{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
		Name: "load", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 3, Reason: "Error", Message: "too slow\n"}},
	}}}}}
	for name, c := range map[string]struct {
		status  batchv1.JobStatus
		pods    []corev1.Pod
		want    string
		deleted bool
	}{
		"complete":            {condition(batchv1.JobComplete, "CompletionsReached", ""), nil, "Successful ", false},
		"failed":              {condition(batchv1.JobFailed, "BackoffLimitExceeded", "limit reached"), ended, "Failed Job N failed: BackoffLimitExceeded: limit reached; container load ended with exit code 3 (Error): too slow", false},
		"past its deadline":   {condition(batchv1.JobFailed, "DeadlineExceeded", "was active longer than specified deadline"), nil, "Failed Job N failed: DeadlineExceeded: was active longer than specified deadline", false},
		"running":             {batchv1.JobStatus{Ready: new(int32(1))}, nil, "Running the Job runs", false},
		"waiting":             {batchv1.JobStatus{}, nil, "Running the Job waits for its pods", false},
		"a pull that failed":  {batchv1.JobStatus{}, waits("ErrImagePull"), "Running the Job waits for its pods", false},
		"no image to be had":  {batchv1.JobStatus{}, waits("ImagePullBackOff"), "Inconclusive Job N never ran: container load: ImagePullBackOff: no such image", true},
		"failing, not failed": {condition(batchv1.JobFailureTarget, "BackoffLimitExceeded", "limit reached"), ended, "Running the Job waits for its pods", false},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{}
			p := Provider{Clock: testingclock.NewFakePassiveClock(now), Jobs: w}
			r := start(t, p, request())
			w.job.Status, w.pods = c.status, c.pods
			reading, err := p.Resume(t.Context(), r)
			got := fmt.Sprintf("%s %s", reading.Phase, strings.ReplaceAll(reading.Message, Name(r), "N"))
			if err != nil || got != c.want || (w.deleted > 0) != c.deleted {
				t.Errorf("%s, error %v, deleted %d times; want %s", got, err, w.deleted, c.want)
			}
			if reading.Metadata[NameKey] != Name(r) {
				t.Errorf("metadata %v", reading.Metadata)
			}
		})
	}
}

func TestJobsThatAreNotThere(t *testing.T) {
	w := &world{}
	p := Provider{Clock: testingclock.NewFakePassiveClock(now), Jobs: w}
	r := start(t, p, request())

	// Created, but the controller died before that was recorded: it is the same Job.
	first, err := p.Measure(t.Context(), request())
	if err != nil {
		t.Fatal(err)
	}
	if reading, err := p.Resume(t.Context(), begun(request(), first)); err != nil || reading.Phase != v1alpha1.AnalysisPhaseRunning {
		t.Errorf("%+v, %v", reading, err)
	}
	w.job.OwnerReferences[0].UID = "another"
	if _, err := p.Resume(t.Context(), r); err == nil || !strings.Contains(err.Error(), "belongs to another owner") {
		t.Errorf("%v, want an error about whose it is", err)
	}
	w.job = nil
	if _, err := p.Resume(t.Context(), r); err == nil || !strings.Contains(err.Error(), "was deleted before it ended") || w.job != nil {
		t.Errorf("%v, want an error, and no second Job", err)
	}
	if err := p.Stop(t.Context(), r); err != nil {
		t.Errorf("stop what is gone: %v", err)
	}
	w.refuses = apierrors.NewForbidden(schema.GroupResource{Resource: "jobs"}, "x", nil)
	if _, err := p.Resume(t.Context(), begun(request(), first)); err == nil || !strings.Contains(err.Error(), "create Job") {
		t.Errorf("%v, want the API server's refusal", err)
	}
}

// What a status says of a Job's place is a tenant's to write.
func TestWhereAJobIs(t *testing.T) {
	r := request()
	uid, derived := string(r.Run.UID), Name(r)
	for name, c := range map[string]struct {
		shared string // the configured namespace
		told   place  // by the status
		job    place
		// owner and label are the UIDs that the Job has.
		owner, label string
		// found: the Job is looked at, and deleted where the measurement is stopped. created is where a Job is made, if one is.
		found   bool
		created place
		refused bool
	}{
		"as it was told":               {told: place{"shop", derived}, job: place{"shop", derived}, owner: uid, label: uid, found: true},
		"not made yet":                 {told: place{"shop", derived}, created: place{"shop", derived}},
		"nothing told":                 {created: place{"shop", derived}},
		"nothing told, and there":      {job: place{"shop", derived}, owner: uid, found: true},
		"Argo Rollouts' number":        {told: place{"shop", uid + ".load.7"}, job: place{"shop", uid + ".load.7"}, owner: uid, label: uid, found: true},
		"another namespace":            {told: place{"kube-system", "pwned"}, created: place{"shop", derived}},
		"another's Job":                {told: place{"team-b", "nightly-backup"}, job: place{"team-b", "nightly-backup"}, created: place{"shop", derived}},
		"marked like this one's":       {told: place{"team-b", derived}, job: place{"team-b", derived}, owner: uid, label: uid, created: place{"shop", derived}},
		"another Job of the namespace": {told: place{"shop", "nightly-backup"}, job: place{"shop", "nightly-backup"}, label: uid, created: place{"shop", derived}},
		"another run's":                {told: place{"shop", "ffff.load.2"}, job: place{"shop", "ffff.load.2"}, owner: "ffff", label: "ffff", created: place{"shop", derived}},
		"another metric's":             {told: place{"shop", uid + ".other.2"}, job: place{"shop", uid + ".other.2"}, owner: uid, label: uid, created: place{"shop", derived}},
		"no number":                    {told: place{"shop", uid + ".load.x"}, job: place{"shop", uid + ".load.x"}, owner: uid, created: place{"shop", derived}},
		"the name alone":               {told: place{"shop", derived}, job: place{"shop", derived}, label: uid, refused: true},
		"another controls it":          {told: place{"shop", derived}, job: place{"shop", derived}, owner: "ffff", label: uid, refused: true},
		"shared":                       {shared: "jobs", told: place{"jobs", derived}, job: place{"jobs", derived}, label: uid, found: true},
		"shared, another's":            {shared: "jobs", told: place{"jobs", derived}, job: place{"jobs", derived}, owner: uid, label: "ffff", refused: true},
		"shared since":                 {shared: "jobs", told: place{"shop", derived}, job: place{"shop", derived}, owner: uid, found: true},
		"shared, and a third reported": {shared: "jobs", told: place{"team-b", derived}, job: place{"team-b", derived}, label: uid, created: place{"jobs", derived}},
		"shared no more":               {told: place{"jobs", derived}, job: place{"jobs", derived}, label: uid, created: place{"shop", derived}},
	} {
		t.Run(name, func(t *testing.T) {
			made := func() *batchv1.Job {
				if c.job == (place{}) {
					return nil
				}
				job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: c.job.namespace, Name: c.job.name, Labels: map[string]string{"analysisrun.argoproj.io/uid": c.label}}}
				if c.owner != "" {
					job.OwnerReferences = []metav1.OwnerReference{{Kind: "AnalysisRun", UID: types.UID(c.owner), Controller: new(true)}}
				}
				return job
			}
			told := c.told.metadata()
			if c.told == (place{}) {
				told = nil
			}
			r := begun(r, metric.Reading{Phase: v1alpha1.AnalysisPhaseRunning, Metadata: told})

			w := &elsewhere{world: world{job: made()}}
			p := Provider{Clock: testingclock.NewFakePassiveClock(now), Jobs: w, Namespace: c.shared, Unconfined: true}
			reading, err := p.Resume(t.Context(), r)
			if (err != nil) != c.refused || err != nil && !strings.Contains(err.Error(), "belongs to another owner") {
				t.Errorf("resume: %v", err)
			}
			if w.created != c.created {
				t.Errorf("a Job is created at %s, want %s", w.created, c.created)
			}
			if want := cmp.Or(c.created, c.job); err == nil && (reading.Metadata[NamespaceKey] != want.namespace || reading.Metadata[NameKey] != want.name) {
				t.Errorf("%v is told, want %s", reading.Metadata, want)
			}
			for what, end := range map[string]func(context.Context, metric.Request) error{"stop": p.Stop, "forget": p.Forget} {
				w.job, w.deleted = made(), 0
				if err := end(t.Context(), r); err != nil || (w.deleted > 0) != c.found {
					t.Errorf("%s: deleted %d times (%v)", what, w.deleted, err)
				}
			}
		})
	}
}

// In a namespace that AnalysisRuns share, a Job gets no rights that its tenant may not have.
func TestAJobInASharedNamespaceIsConfined(t *testing.T) {
	harmless := func() *corev1.PodSpec {
		return &corev1.PodSpec{
			SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: new(true), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
			Containers: []corev1.Container{{Name: "load", Image: "load:1", SecurityContext: &corev1.SecurityContext{
				AllowPrivilegeEscalation: new(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			}}},
		}
	}
	for name, c := range map[string]struct {
		change func(*corev1.PodSpec)
		want   string // what the error says, empty for none
	}{
		"harmless":            {func(*corev1.PodSpec) {}, ""},
		"the default account": {func(s *corev1.PodSpec) { s.ServiceAccountName = "default" }, ""},
		"nothing said":        {func(s *corev1.PodSpec) { s.SecurityContext = nil }, `does not meet the Pod Security Standard "restricted": runAsNonRoot != true (pod or container "load" must set securityContext.runAsNonRoot=true)`},
		"privileged":          {func(s *corev1.PodSpec) { s.Containers[0].SecurityContext.Privileged = new(true) }, `container "load" must not set securityContext.privileged=true`},
		"the host's network":  {func(s *corev1.PodSpec) { s.HostNetwork = true }, "host namespaces (hostNetwork=true)"},
		"the host's files": {func(s *corev1.PodSpec) {
			s.Volumes = []corev1.Volume{{Name: "etc", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/etc"}}}}
		}, `restricted volume types (volume "etc" uses restricted volume type "hostPath")`},
		"another's account": {func(s *corev1.PodSpec) { s.ServiceAccountName = "deployer" }, `provider.job.spec.template.spec.serviceAccountName "deployer"`},
		"its old name":      {func(s *corev1.PodSpec) { s.DeprecatedServiceAccount = "deployer" }, `provider.job.spec.template.spec.serviceAccount "deployer"`},
		"a token":           {func(s *corev1.PodSpec) { s.AutomountServiceAccountToken = new(true) }, "automountServiceAccountToken true"},
		"a token of another volume": {func(s *corev1.PodSpec) {
			s.Volumes = []corev1.Volume{{Name: "t", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
				Sources: []corev1.VolumeProjection{{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "t"}}},
			}}}}
		}, "volumes[0].projected.sources[0].serviceAccountToken"},
	} {
		t.Run(name, func(t *testing.T) {
			r := request()
			r.Metric.Provider.Job.Spec.Template.Spec = *harmless()
			c.change(&r.Metric.Provider.Job.Spec.Template.Spec)
			for where, p := range map[string]Provider{"another namespace": {Namespace: "jobs"}, "another cluster": {Elsewhere: true}} {
				w := &world{}
				p.Clock, p.Jobs = testingclock.NewFakePassiveClock(now), w
				_, began := p.Measure(t.Context(), r)
				_, err := p.Resume(t.Context(), begun(r, metric.Reading{Phase: v1alpha1.AnalysisPhaseRunning})) // as a status may claim
				if fmt.Sprint(began) != fmt.Sprint(err) {
					t.Errorf("%s: to begin says %v, to go on %v", where, began, err)
				}
				switch {
				case c.want == "" && err != nil:
					t.Errorf("%s: %v", where, err)
				case c.want == "" && *w.job.Spec.Template.Spec.AutomountServiceAccountToken:
					t.Errorf("%s: the pods get a token", where)
				case c.want != "" && (err == nil || w.job != nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), UnconfinedFlag)):
					t.Errorf("%s: %v, want an error about %s, with the remedy", where, err, c.want)
				}
				p.Unconfined = true
				if _, err := p.Measure(t.Context(), r); err != nil {
					t.Errorf("%s, allowed: %v", where, err)
				}
			}
			if _, err := (Provider{Clock: testingclock.NewFakePassiveClock(now), Namespace: "shop"}).Measure(t.Context(), r); err != nil {
				t.Errorf("in the AnalysisRun's own namespace: %v", err)
			}
		})
	}
}

// elsewhere is a world in which Jobs are only noted that are to be created.
type elsewhere struct {
	world
	created place
}

func (e *elsewhere) Create(_ context.Context, job *batchv1.Job) error {
	e.created = placeOf(job)
	return nil
}

func TestNames(t *testing.T) {
	r := request()
	seen := map[string]string{}
	for _, name := range []string{
		"load", "Load", "load test", "availability-of-the-region-north", "availability-of-the-region-south", "äöü", "a.b", "a-b", "-", "load-",
	} {
		for _, n := range []int{1, 11, 1234567} {
			r.Metric.Name, r.Number = name, n
			got := Name(r)
			if problems := validation.IsDNS1123Subdomain(got); len(problems) > 0 || len(got) > 63 {
				t.Errorf("%q: %s is no name: %v", name, got, problems)
			}
			if other, taken := seen[got]; taken {
				t.Errorf("%q has the name of %q: %s", name, other, got)
			}
			seen[got] = name
		}
	}
}

func TestPolling(t *testing.T) {
	for elapsed, want := range map[time.Duration]time.Duration{
		0: time.Second, 200 * time.Millisecond: time.Second, 2 * time.Second: 2 * time.Second, 50 * time.Second: 10 * time.Second, 30 * time.Minute: time.Minute,
	} {
		if got := pollAfter(elapsed); got != want {
			t.Errorf("after %s again in %s, want %s", elapsed, got, want)
		}
	}
}
