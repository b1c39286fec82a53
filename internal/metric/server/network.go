package server

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"syscall"
	"time"

	"k8s.io/utils/clock"
)

// Reach says which addresses requests may go to. Its zero value refuses what a measurement has no business with: this machine, the link,
// multicast and reserved addresses, and the metadata services of clouds, which give away the node's credentials. Private networks are in reach,
// since that is where people's Prometheus is.
type Reach struct {
	// Allow are ranges that are in reach although they would be refused, Deny ranges that are not in reach in any case.
	Allow, Deny []netip.Prefix
}

// ParseRanges reads ranges of addresses.
func ParseRanges(texts []string) ([]netip.Prefix, error) {
	var all []netip.Prefix
	for _, text := range texts {
		prefix, err := netip.ParsePrefix(strings.TrimSpace(text))
		if err != nil {
			return nil, fmt.Errorf("%q is not a range of addresses: write for example 10.0.0.0/8 or fd00::/8", text)
		}
		all = append(all, prefix.Masked())
	}
	return all, nil
}

var refusedByDefault = prefixes(
	"0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4", "240.0.0.0/4",
	"::/128", "::1/128", "fe80::/10", "ff00::/8",
	"64:ff9b:1::/48", // translated to IPv4 by rules of the site
	// Metadata services that are not at 169.254.169.254: Amazon's by IPv6, Google's by IPv6, Alibaba's, Azure's host, Oracle's.
	"fd00:ec2::254/128", "fd20:ce::254/128", "100.100.100.200/32", "168.63.129.16/32", "192.0.0.192/32",
)

func prefixes(texts ...string) []netip.Prefix {
	all, err := ParseRanges(texts)
	if err != nil {
		panic(err) // they are written above
	}
	return all
}

// Check returns an error if an address is not in reach.
func (r Reach) Check(address netip.Addr) error {
	for _, a := range forms(address) {
		switch {
		case contains(r.Deny, a):
			return fmt.Errorf("address %s is refused by the controller's flag --analysis-deny-cidrs: ask a server elsewhere", address)
		case contains(refusedByDefault, a) && !contains(r.Allow, a):
			return fmt.Errorf("address %s is this machine, link-local, reserved or a cloud's metadata service, and measurements may not ask it: "+
				"ask a server elsewhere, or have the controller's flag --analysis-allow-cidrs allow the address", address)
		}
	}
	return nil
}

// forms are an address and the IPv4 address that it stands for, if it does: mapped, compatible, translated by NAT64 (RFC 6052) or 6to4.
func forms(address netip.Addr) []netip.Addr {
	address = address.WithZone("").Unmap()
	all := []netip.Addr{address}
	if address.Is4() {
		return all
	}
	b := address.As16()
	switch {
	case nat64.Contains(address), compatible.Contains(address) && address != netip.IPv6Loopback() && address != netip.IPv6Unspecified():
		all = append(all, netip.AddrFrom4([4]byte(b[12:])))
	case sixToFour.Contains(address):
		all = append(all, netip.AddrFrom4([4]byte(b[2:6])))
	}
	return all
}

var (
	nat64      = netip.MustParsePrefix("64:ff9b::/96")
	compatible = netip.MustParsePrefix("::/96")
	sixToFour  = netip.MustParsePrefix("2002::/16")
)

func contains(ranges []netip.Prefix, a netip.Addr) bool {
	for _, p := range ranges {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// Network is the connections of all measurements. Every provider dials through it.
type Network struct {
	checked, unchecked http.RoundTripper
	clock              clock.Clock
	backoff            time.Duration
	tokens             *tokens
}

// NewNetwork returns connections to what is in reach. The address is checked when its name has been resolved, at the moment of each
// connection: a name that resolves to another address later, or to several, gets no further than the address. Where the environment has a
// proxy ($HTTPS_PROXY), that is what is connected to and checked, and the proxy decides what it asks.
func NewNetwork(reach Reach) *Network {
	dialer := &net.Dialer{
		Timeout: 30 * time.Second, KeepAlive: 30 * time.Second,
		Control: func(_, address string, _ syscall.RawConn) error {
			to, err := netip.ParseAddrPort(address)
			if err != nil {
				return err
			}
			return reach.Check(to.Addr())
		},
	}
	checked := http.DefaultTransport.(*http.Transport).Clone()
	checked.DialContext = dialer.DialContext
	checked.MaxIdleConns, checked.MaxIdleConnsPerHost = 500, 100 // many measurements ask one server at about the same time
	unchecked := checked.Clone()
	unchecked.TLSClientConfig = &tls.Config{InsecureSkipVerify: true} // as the user asked
	return &Network{checked: checked, unchecked: unchecked, clock: clock.RealClock{}, backoff: firstBackoff, tokens: &tokens{}}
}

// Over returns connections that are not checked, over which measurements ask again almost at once: for tests.
func Over(transport http.RoundTripper) *Network {
	return &Network{checked: transport, unchecked: transport, clock: clock.RealClock{}, backoff: time.Millisecond, tokens: &tokens{}}
}

// Default is the network where nobody allows or denies anything.
var Default = NewNetwork(Reach{})

func (n *Network) orDefault() *Network {
	if n == nil {
		return Default
	}
	return n
}

func (n *Network) transport(insecure bool) http.RoundTripper {
	if n = n.orDefault(); insecure {
		return n.unchecked
	}
	return n.checked
}
