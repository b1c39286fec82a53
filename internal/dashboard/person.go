package dashboard

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-delivery/sluice/internal/cli/live"
	"github.com/sluice-delivery/sluice/internal/view"
)

// Person is who looks at the dashboard, and what acts with his rights.
type Person struct {
	// Name is what the API server calls the person. Empty for the one who runs the dashboard on his own machine.
	Name string
	// Key tells persons apart: equal keys have equal rights.
	Key string
	// Client acts as the person.
	Client live.Client
	// Until is when the request has to be identified again. Zero: never.
	Until time.Time
	// Script: the request carries its credentials itself, so no other site can have sent it.
	Script bool
}

// Door finds out who sends a request, in front of a dashboard that several people use.
type Door interface {
	// Enter identifies the sender. It may renew cookies. ErrUnknown: nobody is logged in.
	Enter(http.ResponseWriter, *http.Request) (Person, error)
	// Handle adds the door's own pages: login, callback. refuse answers with a page that shows a text.
	Handle(handle func(pattern string, h http.HandlerFunc), refuse func(w http.ResponseWriter, r *http.Request, status int, text string))
	// Login is whether people can be sent to the page login.
	Login() bool
	// Leave forgets who sent a request.
	Leave(http.ResponseWriter, *http.Request)
}

// ErrUnknown says that nobody is logged in.
var ErrUnknown = errors.New("nobody is logged in")

// person is who sends a request, with the credentials of this request.
type person struct {
	Person
	*known
	// own: it is who runs the dashboard, and what the cache holds was read with his rights.
	own bool
}

// known is what is remembered of a person from one request to the next.
type known struct {
	actions *rate.Limiter
	streams chan struct{}

	mu     sync.Mutex
	used   time.Time
	rights map[string]rights
	// lists says what of a namespace the person may list, by namespace; "" is all of them.
	lists map[string]lists
}

// lists are the resources that a person may list in a namespace.
type lists struct {
	at      time.Time
	allowed map[schema.GroupVersionResource]bool
}

// What one person may have at once, and how many are remembered.
const (
	actionsOfOne = 10
	streamsOfOne = 30
	personsKept  = 1000
)

func newKnown(streams int) *known {
	return &known{
		actions: rate.NewLimiter(rate.Every(time.Second), actionsOfOne), streams: make(chan struct{}, streams),
		rights: map[string]rights{}, lists: map[string]lists{},
	}
}

// remembered is what is known of the person of this key.
func (s *Server) remembered(key string) *known {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.Clock.Now()
	one := s.persons[key]
	if one == nil {
		if len(s.persons) >= personsKept {
			s.forgetOne()
		}
		one = newKnown(streamsOfOne)
		s.persons[key] = one
	}
	one.used = now
	return one
}

// forgetOne forgets who has not been here for longest. Nothing is lost but answers about rights.
func (s *Server) forgetOne() {
	oldest := ""
	for key, p := range s.persons {
		if oldest == "" || p.used.Before(s.persons[oldest].used) {
			oldest = key
		}
	}
	delete(s.persons, oldest)
}

// in is the person's client for a namespace.
func (p *person) in(namespace string) live.Client {
	c := p.Client
	c.Namespace = namespace
	return c
}

// resources are those that the cache shows.
var resources = []schema.GroupVersionResource{live.Rollouts, live.ReplicaSets, live.Pods, live.Experiments, live.AnalysisRuns}

// mayList reports whether a person may list a resource in a namespace. Where the API server gives no answer nothing is shown, and it is asked
// again the next time.
func (s *Server) mayList(ctx context.Context, p *person, namespace string, resource schema.GroupVersionResource) bool {
	if p.own {
		return true
	}
	return s.listsOf(ctx, p, "").allowed[resource] || s.listsOf(ctx, p, namespace).allowed[resource]
}

func (s *Server) listsOf(ctx context.Context, p *person, namespace string) lists {
	now := s.Clock.Now()
	p.mu.Lock()
	answers, ok := p.lists[namespace]
	p.mu.Unlock()
	if ok && now.Sub(answers.at) < rightsAge {
		return answers
	}
	answers = lists{at: now, allowed: map[schema.GroupVersionResource]bool{}}
	c := p.in(namespace)
	for i, resource := range resources {
		allowed, err := c.MayList(ctx, resource)
		if err != nil {
			return lists{}
		}
		answers.allowed[resource] = allowed
		if i == 0 && !allowed && namespace != "" {
			break // who may not see the Rollouts of a namespace is shown nothing of it
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lists[namespace] = answers
	return answers
}

// rows are the rows that a person may see, in their order.
func (s *Server) rows(ctx context.Context, p *person) []*row {
	all := s.hub.all()
	if p.own || s.mayList(ctx, p, "", live.Rollouts) {
		return all
	}
	s.each(all, func(namespace string) { s.listsOf(ctx, p, namespace) })
	return slices.DeleteFunc(slices.Clone(all), func(r *row) bool { return !s.mayList(ctx, p, r.Namespace, live.Rollouts) })
}

// asksAtOnce is how many questions about one person's rights the API server gets at once.
const asksAtOnce = 16

// each asks something about each namespace of these rows, several at once: there may be hundreds.
func (s *Server) each(rows []*row, ask func(namespace string)) {
	var asking sync.WaitGroup
	places := make(chan struct{}, asksAtOnce)
	last := ""
	for _, r := range rows {
		if r.Namespace == last {
			continue
		}
		last = r.Namespace
		places <- struct{}{}
		asking.Go(func() {
			defer func() { <-places }()
			ask(r.Namespace)
		})
	}
	asking.Wait()
}

// changeable are the rows that a person may change.
func (s *Server) changeable(ctx context.Context, p *person, rows []*row) []*row {
	s.each(rows, func(namespace string) { s.may(ctx, p, namespace) })
	return slices.DeleteFunc(slices.Clone(rows), func(r *row) bool { return s.may(ctx, p, r.Namespace).spec != "" })
}

// objects are a Rollout and what of it a person may see; false if there is none that he may see.
func (s *Server) objects(ctx context.Context, p *person, name types.NamespacedName) (view.Objects, bool) {
	o, ok := s.cache.Objects(name)
	if !ok || !s.mayList(ctx, p, name.Namespace, live.Rollouts) {
		return view.Objects{}, false
	}
	return s.visible(ctx, p, name.Namespace, o), true
}

// visible is without what a person may not list.
func (s *Server) visible(ctx context.Context, p *person, namespace string, o view.Objects) view.Objects {
	for resource, hide := range map[schema.GroupVersionResource]func(){
		live.ReplicaSets:  func() { o.ReplicaSets = nil },
		live.Pods:         func() { o.Pods = nil },
		live.Experiments:  func() { o.Experiments = nil },
		live.AnalysisRuns: func() { o.AnalysisRuns = nil },
	} {
		if !s.mayList(ctx, p, namespace, resource) {
			hide()
		}
	}
	return o
}

// may asks what one may do in a namespace. Where nobody answers, nothing is greyed out: the API server decides in any case.
func (s *Server) may(ctx context.Context, p *person, namespace string) rights {
	now := s.Clock.Now()
	p.mu.Lock()
	answers, ok := p.rights[namespace]
	p.mu.Unlock()
	if ok && now.Sub(answers.at) < rightsAge {
		return answers
	}
	answers = rights{at: now}
	for _, ask := range []struct {
		subresource string
		into        *string
	}{{"", &answers.spec}, {"status", &answers.status}} {
		if allowed, why, err := p.in(namespace).May(ctx, "patch", ask.subresource); err == nil && !allowed {
			*ask.into = cmp.Or(why, "RBAC allows this to others only")
		}
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return answers
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rights[namespace] = answers
	return answers
}

// rights are what one may do in a namespace.
type rights struct {
	at time.Time
	// spec and status are why one may not write these, empty if one may.
	spec, status string
}

// rightsAge is how long an answer about rights is kept.
const rightsAge = time.Minute
