//go:build unix

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/sluice-delivery/sluice/internal/metric/prometheus"
	"github.com/sluice-delivery/sluice/internal/playtest/port"
)

// startPrometheus starts what is measured, and a real Prometheus that measures it: the controller learns its address as in an installation, by
// its environment.
func (s *story) startPrometheus(ctx context.Context) error {
	program, err := exec.LookPath("prometheus")
	if err != nil {
		return errors.New("find Prometheus: run make demo STRATEGY=analysis, which builds it, or apt-get install prometheus")
	}
	target, err := s.startTraffic(ctx)
	if err != nil {
		return err
	}
	folder := filepath.Join(s.folder, "prometheus")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	config := filepath.Join(folder, "prometheus.yml")
	text := fmt.Sprintf("global: {scrape_interval: 1s}\nscrape_configs: [{job_name: demo, static_configs: [{targets: [%q]}]}]\n", target)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return err
	}
	free, err := port.Free()
	if err != nil {
		return err
	}
	address := fmt.Sprintf("127.0.0.1:%d", free)
	c, err := s.start(ctx, nil, program, "--config.file="+config, "--storage.tsdb.path="+folder, "--web.listen-address="+address)
	if err != nil {
		return err
	}
	if err := os.Setenv(prometheus.AddressVariable, "http://"+address); err != nil {
		return err
	}
	return s.await(ctx, c, "http://"+address+"/-/ready")
}

// startTraffic starts this program a second time, as the source of the counters, and returns its address.
func (s *story) startTraffic(ctx context.Context) (address string, err error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	read, write, err := os.Pipe()
	if err != nil {
		return "", err
	}
	defer read.Close() //nolint:errcheck // it was only read
	c, err := s.start(ctx, write, self, "traffic", s.kubeconfig())
	if err := errors.Join(err, write.Close()); err != nil {
		return "", err
	}
	line := bufio.NewScanner(read)
	if !line.Scan() {
		<-c.ended
		return "", c.end()
	}
	return line.Text(), nil
}

// await asks a server until it is ready.
func (s *story) await(ctx context.Context, c *child, url string) error {
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
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
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-c.ended:
			return c.end()
		case <-time.After(100 * time.Millisecond):
		}
	}
}
