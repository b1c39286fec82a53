package plane

import (
	"context"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// dialTimeout is how long a connection to a pod may take; on loopback it is refused or made at once, unless the machine has too much to do.
const dialTimeout = 30 * time.Second

// proxy is kube-proxy: a front for each port of each Service.
type proxy struct {
	log    *slog.Logger
	mu     sync.Mutex
	fronts map[netip.AddrPort]*front
}

// front takes the connections to one port of a Service.
type front struct {
	listener net.Listener
	targets  atomic.Pointer[[]string]
}

// see brings the fronts in line with what was seen.
func (p *proxy) see(v view) {
	p.mu.Lock()
	defer p.mu.Unlock()
	gone := maps.Clone(p.fronts)
	for name, service := range v.services {
		at, ok := Loopback(service.Spec.ClusterIP)
		if !ok {
			continue
		}
		for _, port := range service.Spec.Ports {
			address := netip.AddrPortFrom(at, uint16(port.Port))
			delete(gone, address)
			targets := v.targets(name, port)
			if f := p.fronts[address]; f != nil {
				f.targets.Store(&targets)
				continue
			}
			f, err := open(address, targets)
			if err != nil {
				p.log.Error("a Service cannot be served", "service", name, "error", err)
				continue
			}
			p.fronts[address] = f
		}
	}
	for address, f := range gone {
		_ = f.listener.Close() // it takes nobody any more
		delete(p.fronts, address)
	}
}

func (p *proxy) close() { p.see(view{}) }

func open(at netip.AddrPort, targets []string) (*front, error) {
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp4", at.String())
	if err != nil {
		return nil, err
	}
	f := &front{listener: listener}
	f.targets.Store(&targets)
	go f.accept()
	return f, nil
}

func (f *front) accept() {
	for {
		client, err := f.listener.Accept()
		if err != nil {
			return // closed
		}
		go f.carry(client.(*net.TCPConn))
	}
}

// carry connects a client to a pod. Where that cannot be, the client sees its connection reset, as it would without a process in between.
func (f *front) carry(client *net.TCPConn) {
	targets := *f.targets.Load()
	if len(targets) == 0 {
		reset(client)
		return
	}
	conn, err := net.DialTimeout("tcp4", targets[rand.IntN(len(targets))], dialTimeout)
	if err != nil {
		reset(client)
		return
	}
	pod := conn.(*net.TCPConn)
	var both sync.WaitGroup
	both.Go(func() { copyTo(client, pod) })
	both.Go(func() { copyTo(pod, client) })
	both.Wait()
	_, _ = client.Close(), pod.Close() // both ends know by now
}

// copyTo passes on what comes, and how it ends.
func copyTo(to, from *net.TCPConn) {
	if _, err := io.Copy(to, from); err != nil {
		reset(to)
		return
	}
	_ = to.CloseWrite() // it may be closed already
}

func reset(c *net.TCPConn) {
	_ = c.SetLinger(0) // Close sends RST then
	_ = c.Close()
}
