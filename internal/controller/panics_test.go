package controller

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	runtimecontroller "sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/analysis/measure"
	"github.com/sluice-delivery/sluice/internal/experiment"
	"github.com/sluice-delivery/sluice/internal/metric"
	"github.com/sluice-delivery/sluice/internal/metric/registry"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/telemetry"
)

// stage is an API server that answers as a test wants, and what the process logs.
type stage struct {
	client.WithWatch
	events *record.FakeRecorder

	mu  sync.Mutex
	log bytes.Buffer
	// before says what happens before a request is answered; nil for nothing.
	before func(ctx context.Context, verb string, o client.Object) error
}

func (s *stage) Write(line []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.Write(line)
}

func (s *stage) told() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.String()
}

// fakeIndexer adds indices to a client that is being built.
type fakeIndexer struct{ *fake.ClientBuilder }

func (f fakeIndexer) IndexField(_ context.Context, o client.Object, field string, values client.IndexerFunc) error {
	f.WithIndex(o, field, values)
	return nil
}

func newStage(t *testing.T, objects ...client.Object) *stage {
	t.Helper()
	s := &stage{events: record.NewFakeRecorder(1000)}
	b := fake.NewClientBuilder().WithScheme(Scheme()).WithStatusSubresource(&v1alpha1.Rollout{}).WithObjects(objects...)
	if err := Index(t.Context(), fakeIndexer{b}, true); err != nil {
		t.Fatal(err)
	}
	ask := func(ctx context.Context, verb string, o client.Object) error {
		if s.before == nil {
			return nil
		}
		return s.before(ctx, verb, o)
	}
	s.WithWatch = b.WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
			like := o.DeepCopyObject().(client.Object)
			like.SetNamespace(key.Namespace)
			if err := ask(ctx, "get", like); err != nil {
				return err
			}
			return c.Get(ctx, key, o, options...)
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
			if err := ask(ctx, "create", o); err != nil {
				return err
			}
			return c.Create(ctx, o, options...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, options ...client.PatchOption) error {
			if err := ask(ctx, "patch", o); err != nil {
				return err
			}
			return c.Patch(ctx, o, p, options...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, name string, o client.Object, p client.Patch, options ...client.SubResourcePatchOption) error {
			if err := ask(ctx, "patch", o); err != nil {
				return err
			}
			return c.SubResource(name).Patch(ctx, o, p, options...)
		},
	}).Build()
	return s
}

func (s *stage) parts() Deps {
	return Deps{
		Clock: clock.RealClock{}, Client: s.WithWatch, Live: s.WithWatch, Mapper: meta.NewDefaultRESTMapper(nil),
		Events: s.events, Log: slog.New(slog.NewTextHandler(s, nil)), Meters: telemetry.New(prometheus.NewRegistry(), false),
	}
}

// start runs a reconciler over some objects in one worker, as a process does, until the returned function is called.
func (s *stage) start(t *testing.T, r reconcile.Reconciler, keys ...types.NamespacedName) (stop func()) {
	t.Helper()
	log := logr.FromSlogHandler(slog.NewTextHandler(s, nil))
	options := runtimecontroller.Options{
		Reconciler: discreet(r), MaxConcurrentReconciles: 1, SkipNameValidation: new(true),
		LogConstructor: func(*reconcile.Request) logr.Logger { return log },
	}
	options.DefaultFromConfig(passOptions())
	c, err := runtimecontroller.NewUnmanaged("staged", options)
	if err != nil {
		t.Fatal(err)
	}
	if runs, ok := r.(*AnalysisRunReconciler); ok {
		err = c.Watch(source.Func(runs.Announce))
	}
	if err != nil {
		t.Fatal(err)
	}
	err = c.Watch(source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		for _, key := range keys {
			queue.Add(reconcile.Request{NamespacedName: key})
		}
		return nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- c.Start(ctx) }()
	return func() {
		// The queue of controller-runtime (v0.24.1) may hand an item to a worker that has just left because of the shutdown,
		// and then its goroutine never ends. So nothing may be due while it shuts down.
		synctest.Wait()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// secret is a value that nobody may read who may not read the object that it is in.
const secret = "hunter2"

// podsWithSecret are those whose environment has a secret.
func podsWithSecret() corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web:1", Env: []corev1.EnvVar{{Name: "PASSWORD", Value: secret}}}}},
	}
}

func stagedObject(namespace string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: "web", UID: types.UID(namespace + "-web"), Generation: 1}
}

func stagedRollout(namespace string) *v1alpha1.Rollout {
	return &v1alpha1.Rollout{ObjectMeta: stagedObject(namespace), Spec: v1alpha1.RolloutSpec{
		Replicas: new(int32(1)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}, Template: podsWithSecret(),
		Strategy: v1alpha1.RolloutStrategy{Canary: &v1alpha1.CanaryStrategy{}},
	}}
}

func stagedExperiment(namespace string) *v1alpha1.Experiment {
	return &v1alpha1.Experiment{ObjectMeta: stagedObject(namespace), Spec: v1alpha1.ExperimentSpec{Templates: []v1alpha1.TemplateSpec{{
		Name: "a", Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}, Template: podsWithSecret(),
	}}}}
}

// stagedRun measures with an argument that is a Secret's.
func stagedRun(namespace string) *v1alpha1.AnalysisRun {
	return &v1alpha1.AnalysisRun{ObjectMeta: stagedObject(namespace), Spec: v1alpha1.AnalysisRunSpec{
		Args: []v1alpha1.Argument{{Name: "token", ValueFrom: &v1alpha1.ValueFrom{SecretKeyRef: &v1alpha1.SecretKeyRef{Name: "token", Key: "token"}}}},
		Metrics: []v1alpha1.Metric{{Name: "errors", Interval: "1s", Count: new(intstr.FromInt32(3)), SuccessCondition: "result < 2", Provider: v1alpha1.MetricProvider{Web: &v1alpha1.WebMetric{
			URL: "http://metrics/", Headers: []v1alpha1.WebMetricHeader{{Key: "Authorization", Value: "{{args.token}}"}},
		}}}},
	}}
}

// measuring is a provider in one function.
type measuring func(metric.Request) (metric.Reading, error)

func (m measuring) Measure(_ context.Context, r metric.Request) (metric.Reading, error) { return m(r) }

// reconciler is that of a kind of object, in a world.
func (s *stage) reconciler(ctx context.Context, o client.Object, p Deps, provider measuring) reconcile.Reconciler {
	switch o.(type) {
	case *v1alpha1.Rollout:
		return NewRolloutReconciler(p)
	case *v1alpha1.Experiment:
		return NewExperimentReconciler(p)
	}
	return NewAnalysisRunReconciler(ctx, p, registry.Registry{"web": provider})
}

// A panic costs the pass over its object, which is tried again, and its text, which may quote anything, is in no log line, event or status.
func TestAPanicQuotesNoSecret(t *testing.T) {
	one := func(metric.Request) (metric.Reading, error) { return metric.Reading{Value: 1.0, Text: "1"}, nil }
	for name, c := range map[string]struct {
		object client.Object
		breaks func(*stage, *Deps)
		// provider measures.
		provider measuring
	}{
		"the engine of Rollouts": {object: stagedRollout("team-a"), breaks: func(_ *stage, p *Deps) {
			p.Engine = func(o plan.Observed) plan.Plan {
				if o.Rollout.Namespace == "team-a" {
					panic(fmt.Sprintf("no plan for %v", o.Rollout.Spec.Template))
				}
				return plan.Next(o)
			}
		}},
		"the engine of Experiments, with an error": {object: stagedExperiment("team-a"), breaks: func(_ *stage, p *Deps) {
			p.Experiment = func(o experiment.Observed) experiment.Plan {
				if o.Experiment.Namespace == "team-a" {
					panic(fmt.Errorf("no plan for %v", o.Experiment.Spec.Templates))
				}
				return experiment.Next(o)
			}
		}},
		"the engine of AnalysisRuns": {object: stagedRun("team-a"), provider: one, breaks: func(_ *stage, p *Deps) {
			p.Measure = func(o measure.Observed) measure.Plan {
				if o.Run.Namespace == "team-a" && o.Arguments != nil {
					panic(o.Arguments.Values)
				}
				return measure.Next(o)
			}
		}},
		"a provider": {object: stagedRun("team-a"), breaks: func(*stage, *Deps) {}, provider: func(r metric.Request) (metric.Reading, error) {
			if r.Run.Namespace == "team-a" {
				panic(r.Metric.Provider.Web.Headers)
			}
			return one(r)
		}},
		"the shell, writing": {object: stagedRollout("team-a"), breaks: func(s *stage, _ *Deps) {
			s.before = func(_ context.Context, verb string, o client.Object) error {
				if set, ok := o.(*appsv1.ReplicaSet); ok && verb == "create" && o.GetNamespace() == "team-a" {
					panic(set.Spec.Template.Spec.Containers[0].Env[0])
				}
				return nil
			}
		}},
		"the shell, writing beside the passes": {object: stagedRun("team-a"), provider: one, breaks: func(s *stage, _ *Deps) {
			s.before = func(_ context.Context, verb string, o client.Object) error {
				run, ok := o.(*v1alpha1.AnalysisRun)
				if ok && verb == "patch" && o.GetNamespace() == "team-a" && len(run.Status.MetricResults) > 0 && len(run.Status.MetricResults[0].Measurements) > 0 {
					panic("cannot write " + secret)
				}
				return nil
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				neighbor := c.object.DeepCopyObject().(client.Object)
				neighbor.SetNamespace("team-b")
				neighbor.SetUID("team-b-web")
				token := corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "token"}, Data: map[string][]byte{"token": []byte(secret)}}
				other := token.DeepCopy()
				other.Namespace = "team-b"
				s := newStage(t, c.object.DeepCopyObject().(client.Object), neighbor, &token, other)
				parts := s.parts()
				c.breaks(s, &parts)
				r := s.reconciler(t.Context(), c.object, parts, c.provider)
				stop := s.start(t, r, client.ObjectKeyFromObject(c.object), client.ObjectKeyFromObject(neighbor))
				time.Sleep(10 * time.Second)
				stop()

				log := s.told()
				if n := strings.Count(log, "withheld because it may quote a Secret"); n == 0 || strings.Contains(log, secret) {
					t.Errorf("it logs %d panics:\n%s", n, log)
				}
				close(s.events.Events)
				for event := range s.events.Events {
					if strings.Contains(event, secret) {
						t.Errorf("the event %q", event)
					}
				}
				mine, theirs := s.status(t, c.object), s.status(t, neighbor)
				if strings.Contains(mine+theirs, secret) {
					t.Errorf("the statuses\n%s\n%s", mine, theirs)
				}
				if theirs == s.statusOf(t, neighbor) {
					t.Errorf("the neighbor's status is still %s", theirs)
				}
			})
		})
	}
}

// status is that of an object as it is stored.
func (s *stage) status(t *testing.T, like client.Object) string {
	t.Helper()
	s.before = nil
	now := like.DeepCopyObject().(client.Object)
	if err := s.Get(context.WithoutCancel(t.Context()), client.ObjectKeyFromObject(like), now); err != nil {
		t.Fatal(err)
	}
	return s.statusOf(t, now)
}

func (*stage) statusOf(t *testing.T, o client.Object) string {
	t.Helper()
	var fields struct {
		Status json.RawMessage `json:"status"`
	}
	text, err := json.Marshal(o)
	if err == nil {
		err = json.Unmarshal(text, &fields)
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(fields.Status)
}

// A request that gets no answer ends its pass, which is an error and tried again, and the only worker goes on with what others have.
func TestARequestThatHangsEndsItsPass(t *testing.T) {
	for name, c := range map[string]struct {
		object client.Object
		verb   string
		of     client.Object
	}{
		"a Rollout that is read":                  {stagedRollout("stuck"), "get", &v1alpha1.Rollout{}},
		"a ReplicaSet of a Rollout":               {stagedRollout("stuck"), "create", &appsv1.ReplicaSet{}},
		"the status of a Rollout":                 {stagedRollout("stuck"), "patch", &v1alpha1.Rollout{}},
		"an Experiment that is read":              {stagedExperiment("stuck"), "get", &v1alpha1.Experiment{}},
		"a ReplicaSet of an Experiment":           {stagedExperiment("stuck"), "create", &appsv1.ReplicaSet{}},
		"an AnalysisRun that is read":             {stagedRun("stuck"), "get", &v1alpha1.AnalysisRun{}},
		"the Secret that an AnalysisRun asks for": {stagedRun("stuck"), "get", &corev1.Secret{}},
		"the status of an AnalysisRun":            {stagedRun("stuck"), "patch", &v1alpha1.AnalysisRun{}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				honest := c.object.DeepCopyObject().(client.Object)
				honest.SetNamespace("team-b")
				honest.SetUID("team-b-web")
				token := corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team-b", Name: "token"}, Data: map[string][]byte{"token": []byte(secret)}}
				s := newStage(t, c.object.DeepCopyObject().(client.Object), honest, &token)
				hung := 0
				s.before = func(ctx context.Context, verb string, o client.Object) error {
					if verb != c.verb || o.GetNamespace() != "stuck" || fmt.Sprintf("%T", o) != fmt.Sprintf("%T", c.of) {
						return nil
					}
					hung++
					<-ctx.Done()
					return errors.New("the connection hung")
				}
				r := s.reconciler(t.Context(), c.object, s.parts(), func(metric.Request) (metric.Reading, error) { return metric.Reading{Value: 1.0}, nil })
				stop := s.start(t, r, client.ObjectKeyFromObject(c.object), client.ObjectKeyFromObject(honest))
				time.Sleep(5 * longestPass)
				stop()
				if log := s.told(); hung < 2 || !strings.Contains(log, "the connection hung") {
					t.Errorf("%d requests hung, and the log is\n%s", hung, log)
				}
				if now := s.status(t, honest); now == s.statusOf(t, honest) {
					t.Errorf("the other's status is still %s", now)
				}
			})
		})
	}
}
