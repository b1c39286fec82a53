package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"golang.org/x/oauth2"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/metric"
)

// Options are how to talk to one server.
type Options struct {
	// URL says which server is meant: headers and who asks are told to no other one that it may redirect to.
	URL string
	// Insecure accepts any certificate.
	Insecure       bool
	Headers        []v1alpha1.WebMetricHeader
	Authentication *v1alpha1.Authentication
	// Prove adds to a request, whose other headers and body it is given, what proves who asks; nil for nothing.
	Prove func(r *http.Request, body []byte) error
	// MostBytes is how long an answer may be.
	MostBytes int64
	// Memory is asked before a part of it is read; nil for no bound.
	Memory metric.Memory
	// Network is what to ask over; nil for [Default].
	Network *Network
}

// mostRedirects is how many redirects are followed.
const mostRedirects = 10

// Client returns what asks a server.
func Client(o Options) (*http.Client, error) {
	origin, err := url.Parse(o.URL)
	switch {
	case err != nil:
		return nil, fmt.Errorf("address: %w", err)
	case origin.Scheme != "http" && origin.Scheme != "https", origin.Host == "":
		return nil, fmt.Errorf("address %q is not a URL of a server: write for example http://prometheus.monitoring:9090", o.URL)
	}
	transport := o.Network.transport(o.Insecure)
	c := caller{next: transport, origin: origin, headers: o.Headers, prove: o.Prove, mostBytes: o.MostBytes, memory: o.Memory}
	if a := o.Authentication; a != nil {
		switch {
		case a.BasicAuth != nil && *a.BasicAuth != (v1alpha1.BasicAuthConfig{}):
			c.basic = *a.BasicAuth
			if c.basic.Username == "" || c.basic.Password == "" {
				return nil, errors.New("missing mandatory parameter in metric for basic auth setup: set username and password")
			}
		case a.OAuth2 != nil && !isEmpty(*a.OAuth2):
			if a.OAuth2.TokenURL == "" || a.OAuth2.ClientID == "" || a.OAuth2.ClientSecret == "" {
				return nil, errors.New("missing mandatory parameter in metric for OAuth2 setup: set tokenUrl, clientId and clientSecret")
			}
			c.network, c.oauth2, c.insecure = o.Network.orDefault(), *a.OAuth2, o.Insecure
			c.tokens = o.Network.orDefault().tokens.source(*a.OAuth2, o.Insecure, transport)
		}
	}
	return &http.Client{Transport: c, CheckRedirect: c.follow}, nil
}

// caller adds to requests what the server is to know, and bounds what it answers.
type caller struct {
	next      http.RoundTripper
	origin    *url.URL
	headers   []v1alpha1.WebMetricHeader
	basic     v1alpha1.BasicAuthConfig
	tokens    func(context.Context) (*oauth2.Token, error)
	prove     func(*http.Request, []byte) error
	mostBytes int64
	memory    metric.Memory
	// network, oauth2 and insecure say which token it was that the server does not take any more.
	network  *Network
	oauth2   v1alpha1.OAuth2Config
	insecure bool
}

// RoundTrip asks.
func (c caller) RoundTrip(r *http.Request) (*http.Response, error) {
	if c.isOrigin(r.URL) {
		r = r.Clone(r.Context())
		if err := c.introduce(r); err != nil {
			return nil, err
		}
	}
	answer, err := c.next.RoundTrip(r)
	if err == nil {
		if answer.StatusCode == http.StatusUnauthorized && c.tokens != nil {
			c.network.tokens.forget(c.oauth2, c.insecure)
		}
		answer.Body = &bounded{ReadCloser: answer.Body, ctx: r.Context(), left: c.mostBytes, most: c.mostBytes, memory: c.memory}
	}
	return answer, err
}

func (c caller) introduce(r *http.Request) error {
	if c.basic != (v1alpha1.BasicAuthConfig{}) {
		r.SetBasicAuth(c.basic.Username, c.basic.Password)
	}
	if c.tokens != nil {
		token, err := c.tokens(r.Context())
		if err != nil {
			return fmt.Errorf("ask for a token: %w", err)
		}
		token.SetAuthHeader(r)
	}
	for _, h := range c.headers {
		if http.CanonicalHeaderKey(h.Key) == "Host" {
			r.Host = h.Value
			continue
		}
		r.Header.Set(h.Key, h.Value)
	}
	if c.prove == nil {
		return nil
	}
	var body []byte
	if r.Body != nil && r.Body != http.NoBody {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return err
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	return c.prove(r, body)
}

func (c caller) isOrigin(u *url.URL) bool {
	return u.Scheme == c.origin.Scheme && u.Host == c.origin.Host
}

// follow decides about a redirect. Another server gets neither headers nor a body.
func (c caller) follow(r *http.Request, via []*http.Request) error {
	switch {
	case len(via) >= mostRedirects:
		return fmt.Errorf("it redirects more than %d times", mostRedirects)
	case !c.isOrigin(r.URL) && r.Method != http.MethodGet && r.Method != http.MethodHead:
		return fmt.Errorf("it redirects to %s://%s, and a body is sent only to the server that is asked: write that one's URL", r.URL.Scheme, r.URL.Host)
	}
	return nil
}

// bounded is an answer that may not be longer than most bytes, and that is read as far as there is memory for it.
type bounded struct {
	io.ReadCloser
	ctx        context.Context //nolint:containedctx // that of the request, for which the answer is
	left, most int64
	memory     metric.Memory
	// granted is how much more may be read before memory is asked again, grow how much it is asked for then.
	granted, grow int64
}

// firstGrow is how much memory is asked for at first, each time twice as much as before.
const firstGrow = 1 << 10

// Read reads a part of the answer.
func (b *bounded) Read(p []byte) (int, error) {
	if b.memory != nil && b.granted == 0 {
		b.grow = max(firstGrow, 2*b.grow)
		if err := b.memory.Grow(b.ctx, b.grow); err != nil {
			return 0, err
		}
		b.granted = b.grow
	}
	if b.memory != nil && int64(len(p)) > b.granted {
		p = p[:b.granted]
	}
	n, err := b.ReadCloser.Read(p)
	b.left -= int64(n)
	b.granted -= min(b.granted, int64(n))
	if b.left < 0 {
		return n, fmt.Errorf("the answer is longer than %d bytes: ask for less", b.most)
	}
	return n, err
}

// Explain puts into words why a server did not answer.
func Explain(err error, timeout time.Duration) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("no answer within %s", timeout)
	}
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err // the caller reports the query
	}
	return err
}
