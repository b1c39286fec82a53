//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/hack/traffic/plane"
	"github.com/sluice-delivery/sluice/internal/playtest/port"
)

// prometheus is a real Prometheus that scrapes the pods of one namespace every second. It learns of them by HTTP service discovery: Debian's
// build has none by Kubernetes.
type prometheus struct {
	address string
	cmd     *exec.Cmd
	pods    *http.Server
}

func startPrometheus(ctx context.Context, c client.Client, namespace, folder string) (p *prometheus, err error) {
	program, err := exec.LookPath("prometheus")
	if err != nil {
		return nil, errors.New("there is no prometheus on the PATH: make prometheus builds one into bin/, or apt-get install prometheus")
	}
	p = &prometheus{}
	defer func() {
		if err != nil {
			p.stop()
		}
	}()
	discovery, err := p.discover(c, namespace)
	if err != nil {
		return p, err
	}
	config := filepath.Join(folder, "prometheus.yml")
	text := fmt.Sprintf("global: {scrape_interval: 1s}\nscrape_configs: [{job_name: pods, http_sd_configs: [{url: %q, refresh_interval: 1s}]}]\n", discovery)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return p, err
	}
	log, err := os.Create(filepath.Join(folder, "prometheus.log"))
	if err != nil {
		return p, err
	}
	defer log.Close() //nolint:errcheck // the child has its own
	free, err := port.Free()
	if err != nil {
		return p, err
	}
	listen := fmt.Sprintf("127.0.0.1:%d", free)
	p.address = "http://" + listen
	p.cmd = exec.Command(program, "--config.file="+config, "--storage.tsdb.path="+filepath.Join(folder, "tsdb"), "--web.listen-address="+listen)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	if err := p.cmd.Start(); err != nil {
		p.cmd = nil
		return p, err
	}
	return p, p.ready(ctx)
}

// ready waits until Prometheus answers.
func (p *prometheus) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.address+"/-/ready", http.NoBody)
		if err != nil {
			return err
		}
		answer, err := http.DefaultClient.Do(request)
		if err == nil {
			_ = answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return nil
			}
		}
		if err := sleep(ctx, interval); err != nil {
			return fmt.Errorf("prometheus is not ready: %w", err)
		}
	}
}

// group of targets, as HTTP service discovery has it (https://prometheus.io/docs/prometheus/latest/http_sd/).
type group struct {
	Targets []string          `json:"targets"`
	Labels  map[string]string `json:"labels"`
}

// discover serves the pods of a namespace as targets, each with its hash, and returns the URL.
func (p *prometheus) discover(c client.Client, namespace string) (url string, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	p.pods = &http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var list corev1.PodList
		if err := c.List(r.Context(), &list, client.InNamespace(namespace)); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable) // Prometheus keeps the targets that it has
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(groups(list.Items)) // Prometheus asks again
	})}
	go func() { _ = p.pods.Serve(listener) }() // until it is closed
	return "http://" + listener.Addr().String(), nil
}

func groups(pods []corev1.Pod) []group {
	all := []group{}
	for _, pod := range pods {
		at, ok := plane.Loopback(pod.Status.PodIP)
		if !ok || len(pod.Spec.Containers) == 0 || len(pod.Spec.Containers[0].Ports) == 0 {
			continue
		}
		number := uint16(pod.Spec.Containers[0].Ports[0].ContainerPort) //nolint:gosec // the API server admits 1 to 65535
		all = append(all, group{
			Targets: []string{netip.AddrPortFrom(at, number).String()},
			Labels:  map[string]string{"pod": pod.Name, "hash": pod.Labels[v1alpha1.PodTemplateHashLabel]},
		})
	}
	return all
}

func (p *prometheus) stop() {
	if p.cmd != nil {
		_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		_ = p.cmd.Wait()                          // how it ends is not part of this
	}
	if p.pods != nil {
		_ = p.pods.Close() // nobody asks any more
	}
}
