package serve

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"time"
)

// Pods are the servers that run.
type Pods struct {
	log *slog.Logger

	mu      sync.Mutex
	servers map[Key]*server
}

// Key tells servers apart: a container that is started again is another one.
type Key struct{ Pod, Container string }

// NewPods has no servers yet.
func NewPods(log *slog.Logger) *Pods { return &Pods{log: log, servers: map[Key]*server{}} }

// Loopback is where on this machine an address of the cluster answers: 127.a.b.c for 10.a.b.c.
func Loopback(ip string) (netip.Addr, error) {
	addr, err := netip.ParseAddr(ip)
	if err != nil || !addr.Is4() {
		return netip.Addr{}, fmt.Errorf("%q is no IPv4 address of the playground", ip)
	}
	b := addr.As4()
	b[0] = 127
	return netip.AddrFrom4(b), nil
}

// Run has the server of a container run, if it does not yet. The port is taken at once and opened after app.Start, so that one that is not free is
// an error here.
func (p *Pods) Run(key Key, name, ip string, port int32, app App) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.servers[key] != nil {
		return nil
	}
	address, err := Loopback(ip)
	if err != nil {
		return err
	}
	s := newServer(name, netip.AddrPortFrom(address, uint16(port)), app, p.log)
	if err := s.start(); err != nil {
		return fmt.Errorf("serve pod %s: %w", name, err)
	}
	p.servers[key] = s
	return nil
}

// Stop is SIGTERM to the server of a container.
func (p *Pods) Stop(key Key) {
	p.mu.Lock()
	s := p.servers[key]
	p.mu.Unlock()
	if s != nil {
		s.stop()
	}
}

// Kill ends the server of a container, whatever it is doing.
func (p *Pods) Kill(key Key) {
	p.mu.Lock()
	s := p.servers[key]
	delete(p.servers, key)
	p.mu.Unlock()
	if s != nil {
		s.kill()
	}
}

// KillPod ends all servers of a pod.
func (p *Pods) KillPod(pod string) {
	for _, key := range p.keys() {
		if key.Pod == pod {
			p.Kill(key)
		}
	}
}

// KillAll ends all servers.
func (p *Pods) KillAll() {
	for _, key := range p.keys() {
		p.Kill(key)
	}
}

func (p *Pods) keys() []Key {
	p.mu.Lock()
	defer p.mu.Unlock()
	keys := make([]Key, 0, len(p.servers))
	for key := range p.servers {
		keys = append(keys, key)
	}
	return keys
}

// listen opens a port of a loopback address.
func listen(at netip.AddrPort) (net.Listener, error) {
	return (&net.ListenConfig{}).Listen(context.Background(), "tcp4", at.String())
}

// longestDrain bounds how long a server that was told to stop waits for requests under way; pods have a grace period besides.
const longestDrain = time.Minute
