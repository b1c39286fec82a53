package server

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
)

// mostInCluster is how many requests to the API server may be under way. What an adapter answers slowly then takes no more than these of what the
// API server serves the controller with.
const mostInCluster = 50

// Only returns connections to one server, over a transport that proves who asks. It asks no other one: a redirect would take the proof along.
func Only(origin *url.URL, transport http.RoundTripper) *Network {
	n := Over(&only{origin: origin, next: transport, places: make(chan struct{}, mostInCluster)})
	n.backoff = firstBackoff
	return n
}

type only struct {
	origin *url.URL
	next   http.RoundTripper
	places chan struct{}
}

// RoundTrip asks as soon as there is a place, which is held until the answer was read.
func (o *only) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != o.origin.Scheme || r.URL.Host != o.origin.Host {
		return nil, fmt.Errorf("the API server redirects to %s://%s, which is not asked", r.URL.Scheme, r.URL.Host)
	}
	select {
	case o.places <- struct{}{}:
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	leave := sync.OnceFunc(func() { <-o.places })
	answer, err := o.next.RoundTrip(r)
	if err != nil {
		leave()
		return nil, err
	}
	answer.Body = &leaving{answer.Body, leave}
	return answer, nil
}

// leaving gives a place back when the answer is closed.
type leaving struct {
	io.ReadCloser
	leave func()
}

// Close closes the answer.
func (l *leaving) Close() error {
	defer l.leave()
	return l.ReadCloser.Close()
}
