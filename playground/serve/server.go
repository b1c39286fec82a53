package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// server answers for one container.
type server struct {
	pod   string
	at    netip.AddrPort
	app   App
	log   *slog.Logger
	http  http.Server
	began time.Time

	requests *prometheus.CounterVec
	latency  *prometheus.HistogramVec
	load     meter

	mu       sync.Mutex
	open     *time.Timer // opens the port
	listener net.Listener
	ended    bool
}

func newServer(pod string, at netip.AddrPort, app App, log *slog.Logger) *server {
	s := &server{pod: pod, at: at, app: app, log: log}
	metrics := prometheus.NewRegistry()
	s.requests = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "http_requests_total", Help: "Requests by status code."}, []string{"version", "code"})
	s.latency = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "http_request_duration_seconds", Help: "How long answers took.", Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5},
	}, []string{"version"})
	metrics.MustRegister(s.requests, s.latency)
	routes := http.NewServeMux()
	routes.Handle("/metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}))
	routes.HandleFunc("/", s.answer)
	s.http = http.Server{Handler: routes, ReadHeaderTimeout: 10 * time.Second}
	return s
}

// start has the port opened after the time that the application takes to start. A port that cannot be had at all is an error now.
func (s *server) start() error {
	s.began = time.Now()
	probe, err := listen(s.at)
	if err != nil {
		return err
	}
	if s.app.Start == 0 {
		s.listener = probe
		go s.serve(probe.Addr().String(), func() error { return s.http.Serve(probe) })
		return nil
	}
	if err := probe.Close(); err != nil {
		return fmt.Errorf("close %s: %w", s.at, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = time.AfterFunc(s.app.Start, func() {
		s.mu.Lock()
		if s.ended {
			s.mu.Unlock()
			return
		}
		listener, err := listen(s.at)
		s.listener = listener
		s.mu.Unlock()
		if err != nil {
			s.log.Error("the server of a pod cannot listen", "pod", s.pod, "error", err)
			return
		}
		s.serve(s.at.String(), func() error { return s.http.Serve(listener) })
	})
	return nil
}

func (s *server) serve(at string, run func() error) {
	if err := run(); !errors.Is(err, http.ErrServerClosed) {
		s.log.Error("the server of a pod ended", "pod", s.pod, "address", at, "error", err)
	}
}

// stop is SIGTERM: the port and idle connections are closed at once, requests under way are answered.
func (s *server) stop() {
	if !s.end() {
		return
	}
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), longestDrain)
		defer cancel()
		_ = s.http.Shutdown(ctx) // What is not answered by then is cut by kill.
	}()
}

// kill closes the port, and cuts all connections.
func (s *server) kill() {
	s.end()
	_ = s.http.Close() // It is over either way.
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listener != nil {
		_ = s.listener.Close() // The server does not know of it yet if it has only just been started.
	}
}

// end keeps the port from being opened, and reports whether this is the first call.
func (s *server) end() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := !s.ended
	s.ended = true
	if s.open != nil {
		s.open.Stop()
	}
	return first
}

func (s *server) answer(w http.ResponseWriter, r *http.Request) {
	begin, code := time.Now(), http.StatusOK
	s.load.add(begin)
	if s.app.Latency > 0 {
		select {
		case <-time.After(s.app.Latency):
		case <-r.Context().Done():
			return
		}
	}
	if rand.Float64() < s.app.failing(time.Since(s.began)) {
		code = http.StatusInternalServerError
	}
	s.requests.WithLabelValues(s.app.Version, strconv.Itoa(code)).Inc()
	s.latency.WithLabelValues(s.app.Version).Observe(time.Since(begin).Seconds())
	w.Header().Set("X-Version", s.app.Version)
	w.Header().Set("X-Pod", s.pod)
	w.WriteHeader(code)
	_, _ = fmt.Fprintln(w, s.app.Version) // the client may be gone
}
