package kubelet

import (
	"fmt"
	"net/netip"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// addresses hands out the addresses of pods. An address that became free is the last to be used again, so that a client with
// an old endpoint does not reach a new pod.
type addresses struct {
	mu     sync.Mutex
	cidr   netip.Prefix
	last   netip.Addr
	owners map[netip.Addr]types.UID
}

func newAddresses(cidr netip.Prefix) *addresses {
	return &addresses{cidr: cidr.Masked(), last: cidr.Masked().Addr(), owners: map[netip.Addr]types.UID{}}
}

// keep marks the address of a pod that has one. It fails if it is another pod's, or is none at all.
func (a *addresses) keep(text string, pod types.UID) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	ip, err := netip.ParseAddr(text)
	if err != nil || (a.owners[ip] != "" && a.owners[ip] != pod) {
		return false
	}
	a.owners[ip] = pod
	return true
}

// take gives a pod a free address. The first of the range is the network's and the last may be its broadcast's: neither is used.
func (a *addresses) take(pod types.UID) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	wrapped := false
	for ip := a.last.Next(); ; ip = ip.Next() {
		if !a.cidr.Contains(ip) || !a.cidr.Contains(ip.Next()) {
			if wrapped {
				return "", fmt.Errorf("no address is left in %s", a.cidr)
			}
			ip, wrapped = a.cidr.Addr(), true
			continue
		}
		if a.owners[ip] == "" {
			a.owners[ip], a.last = pod, ip
			return ip.String(), nil
		}
	}
}

// free gives an address back, if it is that pod's.
func (a *addresses) free(text string, pod types.UID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if ip, err := netip.ParseAddr(text); err == nil && a.owners[ip] == pod {
		delete(a.owners, ip)
	}
}
