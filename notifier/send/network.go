package send

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/net/http/httpproxy"

	"github.com/sluice-delivery/sluice/internal/metric/server"
	"github.com/sluice-delivery/sluice/notifier/deliver"
)

const (
	// dialing is how long a connection may take to be made.
	dialing = 10 * time.Second
	// largestAnswer is how much of an answer is read.
	largestAnswer = 64 << 10
	// longestLater is the longest wait that a server may ask for.
	longestLater = time.Hour
)

// Rules say where messages may go.
type Rules struct {
	// Hosts are names of servers, such as hooks.slack.com or *.example.com. If there are any, messages go nowhere else.
	Hosts []string
	// Allow are addresses that may be reached although they are refused otherwise, Deny ones that may not.
	Allow, Deny []netip.Prefix
}

// Network is the connections of all services.
type Network struct {
	rules   Rules
	tenants bool
	proxy   func(*url.URL) (*url.URL, error)
	// direct dials what is checked, proxied dials the operator's own proxy.
	direct, directInsecure, proxied, proxiedInsecure *http.Transport
}

// NewNetwork returns connections by these rules, through the proxies of an environment.
func NewNetwork(rules Rules, proxies *httpproxy.Config) *Network {
	return newNetwork(rules, proxies.ProxyFunc(), false)
}

func newNetwork(rules Rules, proxy func(*url.URL) (*url.URL, error), tenants bool) *Network {
	n := &Network{rules: rules, proxy: proxy, tenants: tenants}
	transport := func(dial func(context.Context, string, string) (net.Conn, error), insecure bool) *http.Transport {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.Proxy, t.DialContext, t.MaxIdleConnsPerHost = nil, dial, 4
		if insecure {
			t.TLSClientConfig = &tls.Config{InsecureSkipVerify: true} // as the configuration asks
		}
		return t
	}
	unchecked := (&net.Dialer{Timeout: dialing}).DialContext
	n.direct, n.directInsecure = transport(n.dial, false), transport(n.dial, true)
	n.proxied, n.proxiedInsecure = transport(unchecked, false), transport(unchecked, true)
	through := func(r *http.Request) (*url.URL, error) { return n.proxy(r.URL) }
	n.proxied.Proxy, n.proxiedInsecure.Proxy = through, through
	return n
}

// ofTenants is the same network for people who may only write to their own namespace: private addresses, such as those of other people's
// Services, are out of reach unless they are allowed.
func (n *Network) ofTenants() *Network { return newNetwork(n.rules, n.proxy, true) }

var private = []netip.Prefix{
	netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("172.16.0.0/12"), netip.MustParsePrefix("192.168.0.0/16"),
	netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("fc00::/7"),
}

func within(ranges []netip.Prefix, a netip.Addr) bool {
	return slices.ContainsFunc(ranges, func(p netip.Prefix) bool { return p.Contains(a) })
}

// Address returns an error if messages may not go to an address.
func (n *Network) Address(a netip.Addr) error {
	a = a.WithZone("").Unmap()
	// The zero Reach refuses this machine, the link and the metadata services of clouds, and private ranges if they are denied.
	reach := server.Reach{Allow: n.rules.Allow, Deny: slices.Clone(n.rules.Deny)}
	if n.tenants && !within(n.rules.Allow, a) {
		reach.Deny = append(reach.Deny, private...)
	}
	if reach.Check(a) != nil {
		return fmt.Errorf("address %s is out of the notifier's reach: send elsewhere, or have its operator allow the address with --allow-cidrs", a)
	}
	return nil
}

// Host returns an error if messages may not go to a server of this name.
func (n *Network) Host(host string) error {
	if a, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		if err := n.Address(a); err != nil {
			return err
		}
	}
	if len(n.rules.Hosts) == 0 {
		return nil
	}
	for _, pattern := range n.rules.Hosts {
		if ok, err := path.Match(strings.ToLower(pattern), strings.ToLower(strings.TrimSuffix(host, "."))); ok && err == nil {
			return nil
		}
	}
	return fmt.Errorf("server %q is not among those of the notifier's flag --allow-hosts: send elsewhere, or have its operator add the name", host)
}

// dial connects to an address that was checked after its name was resolved, so that no name leads elsewhere later.
func (n *Network) dial(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := &net.Dialer{Timeout: dialing, Control: func(_, to string, _ syscall.RawConn) error {
		resolved, err := netip.ParseAddrPort(to)
		if err != nil {
			return err
		}
		return n.Address(resolved.Addr())
	}}
	return dialer.DialContext(ctx, network, address)
}

// Dial connects to host:port by the rules, without a proxy.
func (n *Network) Dial(ctx context.Context, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if err := n.Host(host); err != nil {
		return nil, refused(err)
	}
	return n.dial(ctx, "tcp", address)
}

// client makes requests by the rules.
func (n *Network) client(insecure bool) *http.Client {
	return &http.Client{Transport: ruled{n, insecure}}
}

type ruled struct {
	*Network
	insecure bool
}

// RoundTrip makes one request, of which a redirection may be the reason.
func (r ruled) RoundTrip(request *http.Request) (*http.Response, error) {
	if err := r.Host(request.URL.Hostname()); err != nil {
		return nil, refused(err)
	}
	proxy, err := r.proxy(request.URL)
	if err != nil {
		return nil, err
	}
	transport := r.direct
	switch {
	case proxy != nil && r.insecure:
		transport = r.proxiedInsecure
	case proxy != nil:
		transport = r.proxied
	case r.insecure:
		transport = r.directInsecure
	}
	response, err := transport.RoundTrip(request)
	if err == nil {
		response.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(response.Body, largestAnswer), response.Body}
	}
	return response, err
}

// do makes a request and reads the answer. An answer that is no success is an error that says whether to try again.
func do(client *http.Client, r *http.Request) ([]byte, error) {
	response, err := client.Do(r)
	if err != nil {
		return nil, withoutSecrets(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	if response.StatusCode >= 200 && response.StatusCode < 300 {
		return body, nil
	}
	return body, judged(fmt.Errorf("request to %s has failed with error code %d : %s", r.URL.Host, response.StatusCode, shortened(body)), response)
}

// withoutSecrets leaves the URL out of an error, of which the path often is the secret.
func withoutSecrets(err error) error {
	if u := (*url.Error)(nil); errors.As(err, &u) {
		return u.Err
	}
	return err
}

func shortened(body []byte) string {
	const most = 300
	if len(body) > most {
		return strings.ToValidUTF8(string(body[:most]), "") + "…"
	}
	return string(body)
}

// judged says of a failure whether another attempt may succeed: not if it is the message that the server does not take.
func judged(err error, response *http.Response) error {
	switch code := response.StatusCode; code {
	case http.StatusBadRequest, http.StatusMethodNotAllowed, http.StatusNotAcceptable, http.StatusGone, http.StatusRequestEntityTooLarge,
		http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity:
		return refused(err)
	}
	if wait := retryAfter(response); wait > 0 {
		return &deliver.Later{Err: err, Wait: wait}
	}
	return err
}

// retryAfter is the wait that a server asks for.
func retryAfter(response *http.Response) time.Duration {
	text := response.Header.Get("Retry-After")
	if seconds, err := strconv.ParseFloat(text, 64); err == nil && seconds > 0 {
		return time.Duration(min(seconds, longestLater.Seconds()) * float64(time.Second))
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	now, err := http.ParseTime(response.Header.Get("Date"))
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), 0), longestLater)
}
