package controller

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
)

// counted is an API server's discovery that has some kinds, and counts how often it is asked.
type counted struct {
	meta.RESTMapper
	has   map[schema.GroupVersionKind]bool
	fails error
	asked int
}

func (c *counted) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	c.asked++
	gvk := kind.WithVersion(versions[0])
	switch {
	case c.fails != nil:
		return nil, c.fails
	case !c.has[gvk]:
		return nil, &meta.NoKindMatchError{GroupKind: kind, SearchedVersions: versions}
	}
	return &meta.RESTMapping{GroupVersionKind: gvk}, nil
}

var (
	route          = schema.GroupVersionKind{Group: "apisix.apache.org", Version: "v2", Kind: "ApisixRoute"}
	virtualService = schema.GroupVersionKind{Group: "networking.istio.io", Version: "v1", Kind: "VirtualService"}
)

// However many Rollouts name a kind that the API server does not have, discovery is asked once in a while.
func TestMapperRemembersMisses(t *testing.T) {
	server, now := &counted{has: map[schema.GroupVersionKind]bool{}}, clocktesting.NewFakePassiveClock(time.Unix(1, 0))
	m := remembering(server, now, nil)
	for range 1000 {
		if _, err := m.RESTMapping(route.GroupKind(), route.Version); !meta.IsNoMatchError(err) {
			t.Fatalf("the error is %v", err)
		}
	}
	if server.asked != 1 {
		t.Errorf("discovery is asked %d times for 1000 reconciles", server.asked)
	}
	server.has[route] = true // its CRD is installed
	now.SetTime(now.Now().Add(missFor - 1))
	if _, err := m.RESTMapping(route.GroupKind(), route.Version); err == nil {
		t.Error("the miss is forgotten too early")
	}
	now.SetTime(now.Now().Add(1))
	for range 1000 {
		if _, err := m.RESTMapping(route.GroupKind(), route.Version); err != nil {
			t.Fatalf("a kind that is there now is not found: %v", err)
		}
	}
	if server.asked != 2 {
		t.Errorf("discovery is asked %d times", server.asked)
	}
	if missFor >= consentRetry {
		t.Error("a miss is remembered longer than a Rollout waits for its kind")
	}
}

// An API server that does not answer says nothing about what it has.
func TestMapperForgetsFailures(t *testing.T) {
	server := &counted{has: map[schema.GroupVersionKind]bool{route: true}, fails: errors.New("timeout")}
	m := remembering(server, clocktesting.NewFakePassiveClock(time.Unix(1, 0)), nil)
	if _, err := m.RESTMapping(route.GroupKind(), route.Version); !errors.Is(err, server.fails) {
		t.Errorf("the error is %v", err)
	}
	server.fails = nil
	if _, err := m.RESTMapping(route.GroupKind(), route.Version); err != nil {
		t.Errorf("the failure is remembered: %v", err)
	}
}

func TestMapperFindsTheServedVersion(t *testing.T) {
	for name, c := range map[string]struct {
		ask    schema.GroupVersionKind
		serves []string
		first  string
		want   string
	}{
		"the one that is asked for":                {ask: virtualService, serves: []string{"v1alpha3", "v1beta1", "v1"}, want: "v1"},
		"the newest that there is":                 {ask: virtualService, serves: []string{"v1alpha3", "v1beta1"}, want: "v1beta1"},
		"the operator's":                           {ask: virtualService, serves: []string{"v1alpha3", "v1beta1", "v1"}, first: "v1alpha3", want: "v1alpha3"},
		"another one where the operator's is gone": {ask: virtualService, serves: []string{"v1"}, first: "v1alpha3", want: "v1"},
		"none": {ask: virtualService, want: ""},
		"of a kind that has one version no other":   {ask: route, serves: []string{"v3"}, want: ""},
		"of a kind with one version not operator's": {ask: route, serves: []string{"v2", "v3"}, first: "v3", want: "v2"},
	} {
		t.Run(name, func(t *testing.T) {
			server := &counted{has: map[schema.GroupVersionKind]bool{}}
			for _, version := range c.serves {
				server.has[c.ask.GroupKind().WithVersion(version)] = true
			}
			m := remembering(server, clocktesting.NewFakePassiveClock(time.Unix(1, 0)), map[schema.GroupKind]string{c.ask.GroupKind(): c.first})
			got := ""
			if found, err := m.RESTMapping(c.ask.GroupKind(), c.ask.Version); err == nil {
				got = found.GroupVersionKind.Version
			}
			if got != c.want {
				t.Errorf("it is found in %q, want %q", got, c.want)
			}
		})
	}
}

// Rollouts may name any number of kinds over time, and the memory of those that are missing stays small.
func TestMapperForgetsManyMisses(t *testing.T) {
	m := remembering(&counted{}, clocktesting.NewFakePassiveClock(time.Unix(1, 0)), nil)
	for n := range 3 * mostMissed {
		if _, err := m.RESTMapping(schema.GroupKind{Group: fmt.Sprintf("g%d.example.com", n), Kind: "Proxy"}, "v1"); !meta.IsNoMatchError(err) {
			t.Fatal(err)
		}
		if len(m.missed) > mostMissed {
			t.Fatalf("%d are remembered", len(m.missed))
		}
	}
}
