package move

import (
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan/bluegreen"
	"github.com/sluice-delivery/sluice/internal/plan/draft"
	"github.com/sluice-delivery/sluice/internal/plan/progress"
	"github.com/sluice-delivery/sluice/internal/plan/target"
	"github.com/sluice-delivery/sluice/internal/plan/world"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// small is a Rollout from "stable" to "new", with versions by their hashes, as the pods that each has, all available.
type small struct {
	replicas int32
	pods     map[string]int32
	// selects are hashes by the names of Services.
	selects map[string]string
	status  v1alpha1.RolloutStatus
	traffic spec.Traffic
}

func (s small) mover() *Mover {
	o := world.Observed{Rollout: &v1alpha1.Rollout{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Status: s.status}, Now: time.Unix(1000, 0)}
	o.Rollout.Status.StableRS, o.Rollout.Status.CurrentPodHash = "stable", "new"
	age := int64(0)
	for _, hash := range []string{"new", "stable", "younger", "older"} {
		age++
		n, there := s.pods[hash]
		if !there {
			continue
		}
		set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: hash, Labels: map[string]string{v1alpha1.PodTemplateHashLabel: hash}, CreationTimestamp: metav1.Unix(1000-age, 0)}}
		set.Spec.Replicas = &n
		set.Status.Replicas, set.Status.AvailableReplicas = n, n
		o.ReplicaSets = append(o.ReplicaSets, set)
	}
	for name, hash := range s.selects {
		o.Services = append(o.Services, &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{v1alpha1.ManagedByAnnotation: "web"}},
			Spec:       corev1.ServiceSpec{Selector: map[string]string{v1alpha1.PodTemplateHashLabel: hash}},
		})
	}
	w := world.New(o, spec.Rollout{PodHash: "new", Replicas: s.replicas, Strategy: spec.Canary{}})
	j := &change.Journal{}
	u := progress.New(w, j)
	return New(w, u, draft.New(w, u, j), j, "")
}

// byWeight splits the traffic between the Services "stable" and "canary".
func (s small) byWeight() *ByWeight {
	c := spec.Canary{Traffic: &s.traffic, MaxWeight: 100, StableService: spec.Reference{Name: "stable"}, CanaryService: spec.Reference{Name: "canary"}}
	r := s.mover().ByWeight(nil, nil, c)
	r.split.StableService, r.split.CanaryService = c.StableService, c.CanaryService
	return r
}

// A Service whose version has no pods is lent to one that has some, and left alone where someone answers.
func TestWhoStandsIn(t *testing.T) {
	for name, row := range map[string]struct {
		pods    map[string]int32
		selects string
		want    string
	}{
		"the pods of all":                       {map[string]int32{"new": 0, "stable": 1}, "", ""},
		"the new version":                       {map[string]int32{"new": 0, "stable": 1}, "new", ""},
		"the stable version":                    {map[string]int32{"new": 0, "stable": 0, "older": 1}, "stable", ""},
		"an older version, beside the stable":   {map[string]int32{"new": 0, "stable": 1, "older": 1}, "older", "stable"},
		"an older version that serves":          {map[string]int32{"new": 0, "younger": 1, "older": 1}, "older", ""},
		"an older version without pods":         {map[string]int32{"new": 0, "younger": 1, "older": 0}, "older", "younger"},
		"a version that is gone":                {map[string]int32{"new": 0, "younger": 1}, "gone", "younger"},
		"an older version, and nobody has pods": {map[string]int32{"new": 0, "younger": 0, "older": 0}, "older", ""},
	} {
		m := small{replicas: 1, pods: row.pods, selects: map[string]string{"web": row.selects}}.mover()
		got := ""
		if v := m.standIn("web"); v != nil {
			got = v.Hash
		}
		if got != row.want {
			t.Errorf("%s: it is lent to %q, want %q", name, got, row.want)
		}
	}
}

// The canary Service is not lent to a stable version without pods, where none are needed either.
func TestTheCanaryServiceIsLentToPods(t *testing.T) {
	for stable, want := range map[int32]string{0: "older", 1: "stable"} {
		r := small{pods: map[string]int32{"new": 0, "stable": stable, "older": 1}, selects: map[string]string{"stable": "stable", "canary": "older"}}.byWeight()
		r.leaveSuperseded("canary")
		if got := r.draft.Selects("canary"); got != want {
			t.Errorf("with %d pods of the stable version it selects %q, want %q", stable, got, want)
		}
	}
}

// Where neither Service sends to a pod the routers stay as they are, but for the first time: they may name Services that do.
func TestRoutersAreHeldOnceTheyAreWritten(t *testing.T) {
	for held, weights := range map[bool]*v1alpha1.TrafficWeights{false: nil, true: {}} {
		s := small{replicas: 1, pods: map[string]int32{"new": 0, "stable": 0}, selects: map[string]string{"stable": "stable", "canary": "new"}}
		s.status.Canary.Weights = weights
		r := s.byWeight()
		r.holdForNobody(nil)
		if r.draft.Held != held {
			t.Errorf("with the weights %v they are held: %t", weights, r.draft.Held)
		}
	}
}

// Routers that do not show the recorded weight are told another only if the stable version can carry the rest, or the canary is ready for all of it.
func TestRoutersAreHeldForTheStableVersion(t *testing.T) {
	for name, row := range map[string]struct {
		stable   int32
		inForce  bool
		want, to int32
		held     bool
	}{
		"part of the way, with too few pods of the stable version": {5, false, 50, 20, true},
		"part of the way, with its pods":                           {8, false, 50, 20, false},
		"all the way":                                              {5, false, 50, 50, false},
		"where they show it":                                       {5, true, 50, 20, false},
	} {
		r := small{replicas: 10, pods: map[string]int32{"new": 2, "stable": row.stable}, selects: map[string]string{"stable": "stable", "canary": "new"}}.byWeight()
		r.split.InForce = row.inForce
		r.holdRouters(&weight{want: row.want, to: row.to})
		if r.draft.Held != row.held {
			t.Errorf("%s: they are held: %t", name, r.draft.Held)
		}
	}
}

// A Service that carries traffic to a superseded version is taken over by the new one only where the stable version should have pods and has none.
func TestWhoTakesOverFromASupersededVersion(t *testing.T) {
	for name, row := range map[string]struct {
		replicas, stable int32
		waits            bool
	}{
		"the stable version serves":        {1, 1, true},
		"the stable version is down":       {1, 0, false},
		"no version is to have pods still": {0, 0, true},
	} {
		s := small{replicas: row.replicas, pods: map[string]int32{"new": 1, "stable": row.stable, "older": 1}, selects: map[string]string{"stable": "stable", "canary": "older"}}
		r := s.byWeight()
		r.split.Now, r.split.InForce = 20, true
		if missing := r.awaitsNoWeight(target.Selection{Service: "canary", Version: r.world.New}); (missing != "") != row.waits {
			t.Errorf("%s: the canary Service waits for %q", name, missing)
		}
	}
}

// With one version left, the canary gets nothing. The routers are held all the same where the stable Service sends to another version still, with too few
// pods to carry everything.
func TestTheLastVersionGetsNothingAsTheCanary(t *testing.T) {
	for name, row := range map[string]struct {
		now, older int32
		weight     int32
		held       bool
	}{
		"nothing so far, too few pods": {0, 1, 0, true},
		"nothing so far, enough":       {0, 10, 0, false},
		"it has some":                  {20, 1, 20, false},
	} {
		r := small{replicas: 10, pods: map[string]int32{"new": 1, "older": row.older}, selects: map[string]string{"stable": "older", "canary": "new"}}.byWeight()
		r.split.Now = row.now
		w := &weight{want: 50, to: 50}
		r.settle(w)
		if w.to != row.weight || r.draft.Held != row.held {
			t.Errorf("%s: the weight is %d, held: %t; want %d, %t", name, w.to, r.draft.Held, row.weight, row.held)
		}
	}
}

// Requests come by a Service to what it selected before this reconcile, and to what it selects after it.
func TestWhomAServiceReaches(t *testing.T) {
	v := &world.Version{Hash: "v"}
	for e, want := range map[entry]struct{ names, reaches, only bool }{
		{"v", "v"}:     {true, true, true},
		{"v", "other"}: {true, true, false},
		{"other", "v"}: {true, true, false},
		{"", "other"}:  {false, true, false},
		{"other", ""}:  {false, true, false},
		{"a", "b"}:     {false, false, false},
	} {
		if e.names(v) != want.names || e.reaches(v) != want.reaches || e.only(v) != want.only {
			t.Errorf("%+v: names %t, reaches %t, only %t; want %+v", e, e.names(v), e.reaches(v), e.only(v), want)
		}
	}
}

// Old versions keep their pods while the stable one is gone and no other serves, unless none is to serve.
func TestOldVersionsServeInTheMeantime(t *testing.T) {
	for replicas, keeps := range map[int32]bool{1: true, 0: false} {
		m := small{replicas: replicas, pods: map[string]int32{"new": 0, "older": 1}, selects: map[string]string{"active": "new"}}.mover()
		b := spec.BlueGreen{ActiveService: "active"}
		p := m.BySwitch(nil, bluegreen.New(m.world, m.update, nil, nil, b), b)
		p.update.Serving = p.world.New
		p.retire()
		kept := slices.ContainsFunc(p.journal.Notes, func(n change.Note) bool { return n.Text == "old versions keep their pods" })
		if kept != keeps {
			t.Errorf("with %d pods wanted, old versions keep theirs: %t", replicas, kept)
		}
	}
}

// Both Services select a superseded version: with enforceMaxSurge it gets all of the weight, so that the stable Service can return; there is room for
// both without.
func TestBothServicesElsewhere(t *testing.T) {
	for enforced, want := range map[bool]int32{false: 20, true: 100} {
		s := small{replicas: 1, pods: map[string]int32{"new": 0, "stable": 1, "older": 1}, selects: map[string]string{"stable": "older", "canary": "older"}}
		s.traffic.EnforceMaxSurge = enforced
		r := s.byWeight()
		w := &weight{want: 20, to: 20}
		r.followServices(w)
		if w.to != want || w.final != enforced {
			t.Errorf("enforced: %t: the weight is %d, final: %t; want %d", enforced, w.to, w.final, want)
		}
	}
}

// A weight is reached when it is recorded of the canary Service that the spec names, not of one that it named before.
func TestAWeightIsOfTheCanaryService(t *testing.T) {
	for name, want := range map[string]bool{"canary": true, "before": false} {
		r := small{replicas: 1, pods: map[string]int32{"new": 1, "stable": 1}, selects: map[string]string{"stable": "stable", "canary": "new"}}.byWeight()
		r.update.Is.Canary.Weights = &v1alpha1.TrafficWeights{Canary: v1alpha1.WeightDestination{ServiceName: name, Weight: 20}}
		if reached, missing := r.Weighs(20); reached != want {
			t.Errorf("a weight of the Service %q is reached: %t %s", name, reached, missing)
		}
	}
}
