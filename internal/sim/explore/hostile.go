package explore

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/analysis"
	"github.com/sluice-delivery/sluice/internal/sim"
	"github.com/sluice-delivery/sluice/internal/sim/shell"
	"github.com/sluice-delivery/sluice/internal/traffic"
)

// tenants is the namespace of the tenant who attacks.
const tenants = "team-a"

// limit is what a pass may spend, over whatever object. No pass of 600 hostile histories (seeds 101 to 300 of each kind) needs half of it.
var limit = shell.Spent{Requests: 400, Rounds: 20}

// tenant has all rights in a namespace next to that of the history. In moves of its own, between and in the middle of all
// others, it writes objects of every kind there: copies of what the history has at home, with its names, labels, annotations, statuses and
// owner references, and values from the edges of what the schemas allow.
//
// All rules hold at home as if the tenant were not there. In addition, no reconcile writes in a namespace other than that of its own object,
// and each reconcile ends within a limit.
type tenant struct {
	*rand.Rand
	source  *rand.PCG
	history *history
	server  sim.Server
	// made counts the objects that got a name of their own.
	made int
}

func newTenant(h *history) *tenant {
	source := rand.NewPCG(0, 0)
	return &tenant{Rand: rand.New(source), source: source, history: h, server: h.world.Server()}
}

// attend has the shell tell of what concerns tenants, if the history has one.
func (h *history) attend(o *shell.Options) {
	if !h.Hostile {
		return
	}
	h.tenant = newTenant(h)
	o.OnReach, o.OnSpent, o.Limit = h.tenant.reaches, h.tenant.spends, limit
}

// reaches checks where a pass writes.
func (t *tenant) reaches(r shell.Reach) {
	if r.For.Namespace != r.To.Namespace && !t.invites(r) {
		t.history.fail("reach", "the pass over %s does a %s of %s %s", r.For, r.Verb, r.Kind.Kind, r.To)
	}
}

// invites reports whether a write takes out of one of the tenant's routes what the tenant says that a Rollout has left there, of a namespace
// that the tenant lets use the route. While there is a Rollout of that name its spec and its status tell what it has written, and nobody else.
func (t *tenant) invites(r shell.Reach) bool {
	route, ok := t.server.Get(r.Kind, r.To).(*unstructured.Unstructured)
	return ok && traffic.Admits(route, r.For.Namespace) && t.server.Get(ofSluice(v1alpha1.KindRollout), r.For) == nil
}

// spends checks what a pass has spent.
func (t *tenant) spends(key types.NamespacedName, spent shell.Spent) {
	if spent.Requests > limit.Requests || spent.Rounds > limit.Rounds {
		t.history.fail("bound", "the pass over %s has asked the API server and the caches %d times, and the engine %d times, without an end",
			key, spent.Requests, spent.Rounds)
	}
}

// attack has the tenant do a few things at a place in the history, which no choice elsewhere changes.
func (h *history) attack(chapter uint64) {
	if h.tenant == nil || h.fault != nil || h.replay != nil {
		return
	}
	h.tenant.source.Seed(scatter(h.Seed), scatter(chapter+1<<33))
	h.doing = "the tenant attacks"
	h.noting(func() {
		for range 1 + h.tenant.IntN(4) {
			h.tenant.move(fmt.Sprintf("[%d]", chapter))
		}
	})
}

// move does one thing.
func (t *tenant) move(when string) {
	total := 0
	for _, a := range attacks {
		total += a.often
	}
	n := t.IntN(total)
	for _, a := range attacks {
		if n -= a.often; n < 0 {
			text := a.do(t)
			t.history.log("%s %s TENANT %s: %s", t.history.world.Elapsed(), when, a.name, text)
			return
		}
	}
}

// pacify sends the tenant away, so that what is left to be done at home can be told from what the tenant has.
func (h *history) pacify() {
	if h.tenant != nil {
		h.tenant.leave()
	}
}

// leave takes all away that the tenant has.
func (t *tenant) leave() {
	for _, k := range tenantKinds {
		for _, o := range t.owned(k) {
			t.history.world.TenantRemoves(k.Group, k.Kind, o.GetName())
		}
	}
}

// home is what there is at home, and in which version.
func (t *tenant) home() map[string]string {
	all := map[string]string{}
	for _, k := range tenantKinds {
		for _, o := range t.server.Objects(k) {
			if sim.KeyOf(o).Namespace == sim.Home {
				all[k.Kind+" "+o.GetName()] = string(o.GetUID()) + " " + o.GetResourceVersion()
			}
		}
	}
	return all
}

const (
	// attacksInSiege is how often the tenant does a few things while nothing happens at home.
	attacksInSiege = 8
	// looks is how often, every ten minutes, an update next to the tenant is checked.
	looks = 120
)

// besieged is a history that a tenant attacks once more when it is over.
type besieged interface {
	run(d time.Duration)
	// again begins one more update, if there is anything to update; done reports whether it has come to its end, waits whether it may wait for
	// a person, and goOn does what a person does then.
	again()
	done() bool
	waits() bool
	goOn()
}

// siege has the tenant attack while everything at home is at rest, in a process that now and then dies: nothing changes there. Then an
// update begins beside all that the tenant has, and comes to its end.
func (h *history) siege(of besieged) {
	if h.tenant == nil || h.fault != nil || h.replay != nil || h.fate.record != nil {
		return // a recording ends where people calm down
	}
	h.shell.Weather = shell.Weather{Late: 300, Crash: 100, HandOver: 30} // no standby: after a day none has caches that are behind
	before := h.tenant.home()
	for i := range attacksInSiege {
		h.attack(uint64(most + 2 + i))
		of.run(time.Duration(1+h.tenant.IntN(120)) * time.Second)
	}
	if h.fault != nil {
		return
	}
	if after := h.tenant.home(); !maps.Equal(before, after) {
		h.fail("reach", "while only the tenant did anything, this changed at home: %v", differing(before, after))
		return
	}
	h.clear()
	of.again()
	for range looks {
		of.run(10 * time.Minute)
		if h.fault != nil || of.done() {
			return
		}
		if of.waits() {
			of.goOn()
		}
	}
	h.fail("neighbor", "an update beside a hostile tenant has not ended after %d looks: %s", looks, summary(h.world.World))
}

func (h *history) waits() bool {
	s := h.world.Rollout().Status
	return s.Abort || s.Phase == v1alpha1.RolloutPhasePaused
}

// waits also waits, in the laboratory, for experiments, some of which run until a user ends them.
func (l *laboratory) waits() bool {
	running := func(ex *v1alpha1.Experiment) bool { return !analysis.Ended(ex.Status.Phase) }
	return slices.ContainsFunc(l.world.Experiments(), running) || l.world.Rollout() != nil && l.history.waits()
}

func differing(before, after map[string]string) []string {
	var names []string
	for name := range before {
		if after[name] != before[name] {
			names = append(names, name)
		}
	}
	for name := range after {
		if before[name] == "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
