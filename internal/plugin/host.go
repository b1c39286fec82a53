package plugin

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/sluice-delivery/sluice/api/plugin"
)

const (
	// configAge is how old what is known of the ConfigMap may be when a plugin is asked, and longestConfig how long it may take to read it.
	configAge     = 5 * time.Second
	longestConfig = 10 * time.Second
	// retryFirst and retryLongest are how long a plugin is left alone after a failure: twice as long each time.
	retryFirst, retryLongest = time.Second, 5 * time.Minute
	// steady is how long a process must have run for its failures before to be forgotten.
	steady = 10 * time.Minute
)

// Settings are what a host needs of its surroundings.
type Settings struct {
	Clock clock.PassiveClock
	Log   *slog.Logger
	// ReadConfig reads the ConfigMap's data, empty where there is none. ReadSecret reads a Secret of the controller's namespace.
	ReadConfig func(context.Context) (map[string]string, error)
	ReadSecret func(ctx context.Context, name string) (map[string]string, error)
	// Env reads the controller's environment variables.
	Env func(string) string
	// Dir is where binaries are kept.
	Dir string
	// LongestDownload is how long a binary may take to arrive: five minutes, if it is zero.
	LongestDownload time.Duration
}

// Host keeps the processes of plugins. The zero time of a plugin costs nothing: it begins when it is first asked.
type Host struct {
	settings Settings
	base     context.Context //nolint:containedctx // processes outlive the calls that begin them

	reading sync.Mutex // held while the ConfigMap is read

	mu      sync.Mutex
	config  Config
	readAt  time.Time
	keepers map[ID]*keeper
	closed  bool
	// refreshing: the ConfigMap is read aside; tried: it has been, whatever came of it.
	refreshing, tried bool
}

// keeper keeps the process of one plugin.
type keeper struct {
	entry   Entry
	process *process
	// starting is closed when the process has been started, or not.
	starting chan struct{}
	failures int
	err      error
	retry    time.Time
	// starts and ills count how often it was started, and how often it failed.
	starts, ills int
}

// NewHost returns a host without processes. They end with ctx, see [Host.Close].
func NewHost(ctx context.Context, s Settings) *Host {
	plugin.Register()
	if s.Env == nil {
		s.Env = func(string) string { return "" }
	}
	s.LongestDownload = cmp.Or(s.LongestDownload, longestDownload)
	return &Host{settings: s, base: ctx, keepers: map[ID]*keeper{}}
}

func (h *Host) now() time.Time { return h.settings.Clock.Now() }

// Find is what the ConfigMap says of a plugin now.
func (h *Host) Find(ctx context.Context, id ID) (Entry, error) {
	config, err := h.read(ctx)
	if err != nil {
		return Entry{}, fmt.Errorf("unable to find plugin (%s): %w", id.Name, err)
	}
	entry, err := config.Find(id)
	if err != nil {
		return Entry{}, fmt.Errorf("unable to find plugin (%s): %w", id.Name, err)
	}
	return entry, nil
}

// read is the ConfigMap as it is, or was a moment ago.
func (h *Host) read(ctx context.Context) (Config, error) {
	h.reading.Lock()
	defer h.reading.Unlock()
	if config, fresh := h.known(); fresh {
		return config, nil
	}
	ctx, cancel := context.WithTimeout(ctx, longestConfig)
	defer cancel()
	data, err := h.settings.ReadConfig(ctx)
	if err != nil {
		return Config{}, err
	}
	config, now := Parse(data), h.now()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.config, h.readAt = config, now
	h.retire()
	return config, nil
}

// known is what is known of the ConfigMap, and whether that is not too old.
func (h *Host) known() (config Config, fresh bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.config, !h.readAt.IsZero() && h.now().Sub(h.readAt) < configAge
}

// PrefersBinary reports whether the ConfigMap has a plugin's process split traffic where the controller has a router of its own. It does not wait: what
// is too old is read again aside, and ok is false until that was tried once.
func (h *Host) PrefersBinary(name string) (prefers, ok bool) {
	config, fresh := h.known()
	h.mu.Lock()
	defer h.mu.Unlock()
	if !fresh && !h.refreshing {
		h.refreshing = true
		go h.refresh()
	}
	return config.entries[ID{plugin.TrafficRouter, name}].PreferBinary, h.tried || !h.readAt.IsZero()
}

func (h *Host) refresh() {
	_, err := h.read(h.base)
	if err != nil {
		h.settings.Log.Warn("the list of plugins cannot be read", "error", err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.refreshing, h.tried = false, true
}

// retire ends the processes of plugins that are no longer listed.
func (h *Host) retire() {
	for id, k := range h.keepers {
		if _, err := h.config.Find(id); err != nil && k.starting == nil {
			k.end()
			delete(h.keepers, id)
		}
	}
}

// end ends a process in the background: it may take its time.
func (k *keeper) end() {
	if p := k.process; p != nil {
		go p.stop(false)
		k.process = nil
	}
}

// running is the process of a plugin, started if need be. It waits for the start as long as ctx lasts.
func (h *Host) running(ctx context.Context, id ID) (*process, error) {
	entry, err := h.Find(ctx, id)
	if err != nil {
		return nil, err
	}
	for {
		p, starting, err := h.look(id, entry)
		if p != nil || err != nil {
			return p, err
		}
		select {
		case <-starting:
		case <-ctx.Done():
			return nil, fmt.Errorf("%s is still starting", id)
		}
	}
}

// look finds the process of a plugin, or begins it, or says why there is none yet.
func (h *Host) look(id ID, entry Entry) (*process, <-chan struct{}, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, nil, fmt.Errorf("%s: the controller ends", id)
	}
	k := h.keepers[id]
	if k == nil {
		k = &keeper{entry: entry}
		h.keepers[id] = k
	}
	if k.starting != nil {
		return nil, k.starting, nil
	}
	if !k.entry.same(entry) { // what was wrong may be corrected now
		k.end()
		k.entry, k.failures, k.retry = entry, 0, time.Time{}
	}
	if p := k.process; p != nil {
		if !p.session.IsClosed() {
			return p, nil, nil
		}
		h.note(k, fmt.Errorf("%s has ended by itself", id))
	}
	if wait := k.retry.Sub(h.now()); wait > 0 {
		return nil, nil, fmt.Errorf("%w; it is started again in %s", k.err, max(wait.Round(time.Second), time.Second))
	}
	k.starting = make(chan struct{})
	k.starts++
	go h.start(id, k)
	return nil, k.starting, nil
}

func (h *Host) start(id ID, k *keeper) {
	p, err := h.begin(h.base, id, k.entry)
	h.mu.Lock()
	defer h.mu.Unlock()
	close(k.starting)
	k.starting = nil
	switch {
	case err != nil:
		h.note(k, fmt.Errorf("%s: %w", id, err))
		h.settings.Log.Error("a plugin cannot be started", "plugin", id.Name, "kind", string(id.Kind), "error", short(err.Error()))
	case h.closed:
		go p.stop(true)
	default:
		k.process = p
		h.settings.Log.Info("a plugin has been started", "plugin", id.Name, "kind", string(id.Kind))
	}
}

// failed ends a process that broke its word, and has it started again later.
func (h *Host) failed(p *process, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	k := h.keepers[p.id]
	if k == nil || k.process != p {
		return // another call has noticed before
	}
	h.note(k, err)
	h.settings.Log.Error("a plugin is ended and started again", "plugin", p.id.Name, "kind", string(p.id.Kind), "error", short(err.Error()))
}

// note notes a failure of a plugin, and ends its process if it has one.
func (h *Host) note(k *keeper, err error) {
	if p := k.process; p != nil {
		go p.stop(true)
		k.process = nil
		if h.now().Sub(p.started) >= steady {
			k.failures = 0
		}
	}
	k.err, k.retry = err, h.now().Add(min(retryFirst<<min(k.failures, 20), retryLongest))
	k.failures++
	k.ills++
}

// Close ends all processes, and waits for that.
func (h *Host) Close() {
	h.mu.Lock()
	h.closed = true
	var wait sync.WaitGroup
	for _, k := range slices.Collect(maps.Values(h.keepers)) {
		if p := k.process; p != nil {
			wait.Go(func() { p.stop(false) })
		}
	}
	h.mu.Unlock()
	wait.Wait()
}
