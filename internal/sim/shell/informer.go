package shell

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/sim"
	"github.com/sluice-delivery/sluice/internal/traffic/routers"
)

type kind = schema.GroupKind

// kinds are those that caches may have, those of routers last.
var kinds = slices.Concat(own, routes())

var routeKinds = append(routers.Kinds(), sim.HTTPProxies)

var own = []kind{
	{Group: v1alpha1.GroupVersion.Group, Kind: v1alpha1.KindRollout},
	replicaSets,
	{Kind: "Service"},
	analysisRuns,
	{Group: v1alpha1.GroupVersion.Group, Kind: v1alpha1.KindExperiment},
	{Group: v1alpha1.GroupVersion.Group, Kind: "AnalysisTemplate"},
	{Group: "apps", Kind: "Deployment"},
	{Kind: "PodTemplate"}, // of which a World has none
}

// routes are the kinds of all traffic routers, and one that only Rollouts name.
func routes() (all []kind) {
	for _, gvk := range routeKinds {
		all = append(all, gvk.GroupKind())
	}
	return all
}

var (
	replicaSets  = kind{Group: "apps", Kind: "ReplicaSet"}
	analysisRuns = kind{Group: v1alpha1.GroupVersion.Group, Kind: v1alpha1.KindAnalysisRun}
)

// news is what a watch reports: an object that was added, changed, or deleted.
type news struct {
	was, is sim.Object
	// losses and evictions are of how many the ReplicaSets tell then.
	losses, evictions int
}

// changes are all changes of a kind, in their order.
type changes struct {
	kind kind
	all  []news
	now  []sim.Object
}

// note adds what has changed since the last time.
func (c *changes) note(server sim.Server) {
	now := server.Objects(c.kind)
	losses, evictions := server.Reported()
	add := func(was, is sim.Object) { c.all = append(c.all, news{was, is, losses, evictions}) }
	for _, was := range c.now {
		if i := indexOf(now, sim.KeyOf(was)); i < 0 || now[i].GetUID() != was.GetUID() {
			add(was, nil)
		}
	}
	for i, is := range now {
		j := indexOf(c.now, sim.KeyOf(is))
		switch {
		case j < 0 || c.now[j].GetUID() != is.GetUID():
			add(nil, is)
		case c.now[j] == is:
		case is.GetResourceVersion() == c.now[j].GetResourceVersion() && equality.Semantic.DeepEqual(is, c.now[j]):
			now[i] = c.now[j]
		default:
			add(c.now[j], is)
		}
	}
	c.now = now
}

func indexOf(objects []sim.Object, key types.NamespacedName) int {
	return slices.IndexFunc(objects, func(o sim.Object) bool { return sim.KeyOf(o) == key })
}

// atHome reports whether a change is of an object that the World plays.
func (c news) atHome() bool {
	o := c.is
	if o == nil {
		o = c.was
	}
	return sim.KeyOf(o).Namespace == sim.Home
}

// behind reports whether something at home has changed that the watch has not reported yet.
func (i *informer) behind() bool { return slices.ContainsFunc(i.all[i.heard:], news.atHome) }

// informer is the cache of one kind in one process, and the watch that fills it.
type informer struct {
	*changes
	shell *Shell
	// heard is how many of the changes it has received; at is when it receives more.
	heard int
	at    time.Time
	// lists: the watch was cut off, and everything is listed again.
	lists bool

	objects  []sim.Object
	indices  map[string]client.IndexerFunc
	handlers []registration
}

type registration struct {
	handler.EventHandler
	predicates []predicate.Predicate
	queue      *queue
}

// concerns reports whether the controller keeps an object in its cache: of ReplicaSets those alone that have a version's hash.
func (i *informer) concerns(o sim.Object) bool {
	return i.kind != replicaSets || o.GetLabels()[v1alpha1.PodTemplateHashLabel] != ""
}

// fill lists what there is, or what there was some changes ago.
func (i *informer) fill(back int) {
	i.heard = max(0, len(i.all)-back)
	i.objects = nil
	for _, c := range i.all[:i.heard] {
		i.apply(c)
	}
	i.hear()
}

// hear schedules the delivery of changes that the watch has not reported yet.
func (i *informer) hear() {
	if i.heard == len(i.all) || !i.at.IsZero() {
		return
	}
	wait := i.shell.World.Lag()
	if i.shell.Fate.Happens("watch late", i.shell.Weather.Late) {
		wait += i.shell.Fate.UpTo("watch waited", latest)
	}
	if i.shell.Fate.Happens("watch cut", i.shell.Weather.Cut) {
		wait += i.shell.Fate.UpTo("cut for", longestCut)
		i.lists = true
	}
	i.at = i.shell.World.Now().Add(wait)
}

// tell takes in what the watch tells now: some of the changes in their order, or where it was cut off all that is different.
func (i *informer) tell() {
	i.at = time.Time{}
	if i.lists {
		i.relist()
		return
	}
	n := len(i.all) - i.heard
	if i.shell.Fate.Happens("some changes", i.shell.Weather.Late) {
		n = 1 + i.shell.Fate.OneOf("changes but one", n)
	}
	for range n {
		c := i.all[i.heard]
		i.heard++
		i.take(c)
		if c.is != nil && i.shell.Fate.Happens("change twice", i.shell.Weather.Twice) {
			i.take(news{was: c.is, is: c.is})
		}
	}
	i.hear()
}

// relist compares what was known with what exists. An object that was deleted and created again in between arrives as an update.
func (i *informer) relist() {
	i.lists, i.heard = false, len(i.all)
	for _, was := range slices.Clone(i.objects) {
		if indexOf(i.now, sim.KeyOf(was)) < 0 {
			i.take(news{was: was})
		}
	}
	for _, is := range i.now {
		var was sim.Object
		if at := indexOf(i.objects, sim.KeyOf(is)); at >= 0 {
			was = i.objects[at]
		}
		i.take(news{was: was, is: is})
	}
}

// take stores a change and reports it.
func (i *informer) take(c news) {
	if c.was != nil && !i.concerns(c.was) {
		c.was = nil
	}
	if c.is != nil && !i.concerns(c.is) {
		c.is = nil
	}
	i.apply(c)
	for _, h := range i.handlers {
		h.tell(c)
	}
}

func (i *informer) apply(c news) {
	o := c.is
	if o == nil {
		o = c.was
	}
	if o == nil {
		return
	}
	at := indexOf(i.objects, sim.KeyOf(o))
	switch {
	case c.is == nil || !i.concerns(c.is):
		if at >= 0 {
			i.objects = slices.Delete(i.objects, at, at+1)
		}
	case at >= 0:
		i.objects[at] = c.is
	default:
		i.objects = append(i.objects, c.is)
	}
}

func (r registration) tell(c news) {
	ctx, q := context.Background(), r.queue
	passes := func(does func(predicate.Predicate) bool) bool {
		return !slices.ContainsFunc(r.predicates, func(p predicate.Predicate) bool { return !does(p) })
	}
	switch {
	case c.was == nil && c.is == nil:
	case c.was == nil:
		if e := (event.CreateEvent{Object: c.is}); passes(func(p predicate.Predicate) bool { return p.Create(e) }) {
			r.Create(ctx, e, q)
		}
	case c.is == nil:
		if e := (event.DeleteEvent{Object: c.was}); passes(func(p predicate.Predicate) bool { return p.Delete(e) }) {
			r.Delete(ctx, e, q)
		}
	default:
		if e := (event.UpdateEvent{ObjectOld: c.was, ObjectNew: c.is}); passes(func(p predicate.Predicate) bool { return p.Update(e) }) {
			r.Update(ctx, e, q)
		}
	}
}

// register reports everything that exists to a handler, and then what changes.
func (i *informer) register(r registration) {
	i.handlers = append(i.handlers, r)
	for _, o := range i.objects {
		r.tell(news{is: o})
	}
}

// measuredOnly reports whether nothing is still to be told but of measurements.
func (i *informer) measuredOnly() bool {
	return !slices.ContainsFunc(i.all[i.heard:], func(c news) bool {
		was, ok := c.was.(*v1alpha1.AnalysisRun)
		is, alsoOK := c.is.(*v1alpha1.AnalysisRun)
		return !ok || !alsoOK || was.Status.Phase != is.Status.Phase
	})
}

// unreported is of how many of the world's losses and evictions its ReplicaSets do not tell.
func (i *informer) unreported() (losses, evictions int) {
	losses, evictions = i.shell.World.Losses, i.shell.World.Evictions
	if i.heard > 0 {
		losses, evictions = losses-i.all[i.heard-1].losses, evictions-i.all[i.heard-1].evictions
	}
	return losses, evictions
}
