//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/sluice-delivery/sluice/internal/playtest"
	"github.com/sluice-delivery/sluice/internal/playtest/port"
)

// process is a running controller.
type process struct {
	cmd            *exec.Cmd
	metrics, pprof string
	health         string
	log            string
	started        time.Time
}

// memoryLimit is what config/install/controller.yaml sets.
const memoryLimit = "1380MiB"

// startController starts a controller as it is installed: for all namespaces, and waiting for a lease.
func startController(cluster *playtest.Cluster, folder string, flags ...string) (*process, error) {
	ports, err := port.Several(3)
	if err != nil {
		return nil, err
	}
	p := &process{
		metrics: "http://127.0.0.1:" + strconv.Itoa(ports[0]) + "/metrics",
		pprof:   "127.0.0.1:" + strconv.Itoa(ports[1]),
		health:  "http://127.0.0.1:" + strconv.Itoa(ports[2]) + "/readyz",
		log:     filepath.Join(folder, "controller.log"),
	}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close() //nolint:errcheck // the child has its own
	args := append([]string{
		"--kubeconfig", cluster.ControllerKubeconfig(), "--healthz-port=" + strconv.Itoa(ports[2]), "--metrics-port=" + strconv.Itoa(ports[0]), "--enable-pprof-address=" + p.pprof,
		"--analysis-allow-cidrs=127.0.0.0/8", "--gateway-status-timeout=0", // there are no Gateways
	}, flags...)
	p.cmd = exec.Command(cluster.Program("sluice-controller"), args...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.Env = append(os.Environ(), "POD_NAMESPACE=argo-rollouts", "GOMEMLIMIT="+memoryLimit)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	p.started = time.Now()
	return p, p.cmd.Start()
}

// ready waits until the process says that it is.
func (p *process) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("the controller was not ready within %s", patience))
	defer cancel()
	for ctx.Err() == nil {
		if response, err := http.Get(p.health); err == nil {
			_ = response.Body.Close() // it was not even read
			if response.StatusCode == http.StatusOK {
				return nil
			}
		}
		wait(ctx, 50*time.Millisecond)
	}
	return context.Cause(ctx)
}

// stop ends the process in good order and waits until it has ended. One that has is left in peace.
func (p *process) stop() error {
	if p == nil || p.cmd.Process == nil || p.cmd.ProcessState != nil {
		return nil
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	if err := p.cmd.Wait(); err != nil {
		log, _ := os.ReadFile(p.log)
		return fmt.Errorf("the controller ended: %w: %s", err, log[max(0, len(log)-4096):])
	}
	return nil
}

// ticksPerSecond is how Linux counts processor time for programs, on every platform that Go knows.
const ticksPerSecond = 100

// cpu is the processor time that the process has used.
func (p *process) cpu() (time.Duration, error) { return processorTime(p.cmd.Process.Pid) }

// processorTime is what a process has used.
func processorTime(pid int) (time.Duration, error) {
	text, err := proc(pid, "stat")
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(text[strings.LastIndex(text, ")")+1:]) // from the third on: the name may hold spaces
	user, err1 := strconv.ParseInt(fields[11], 10, 64)
	system, err2 := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * time.Second / ticksPerSecond, errors.Join(err1, err2)
}

// resident is how many bytes of memory the process holds, and program how many of them are pages of its file.
func (p *process) resident() (int64, error) { return p.memory(1) }
func (p *process) program() (int64, error)  { return p.memory(2) }

// memory is a field of /proc/PID/statm.
func (p *process) memory(field int) (int64, error) {
	text, err := proc(p.cmd.Process.Pid, "statm")
	if err != nil {
		return 0, err
	}
	pages, err := strconv.ParseInt(strings.Fields(text)[field], 10, 64)
	return pages * int64(os.Getpagesize()), err
}

func proc(pid int, file string) (string, error) {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), file))
	return string(text), err
}

// passes is how often the controller has looked at a Rollout.
func (p *process) passes() int {
	return int(p.metric("controller_runtime_reconcile_total", `="rollout"`))
}

// metric reads the sum of a metric's series that have a label, or of all without one; 0 while the process does not answer.
func (p *process) metric(name, label string) float64 {
	response, err := http.Get(p.metrics)
	if err != nil {
		return 0
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return 0
	}
	sum := 0.0
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		at := max(0, strings.LastIndexByte(line, ' '))
		series, value := line[:at], strings.TrimSpace(line[at:])
		if series == name && label == "" || strings.HasPrefix(series, name+"{") && strings.Contains(series, label) {
			number, _ := strconv.ParseFloat(value, 64)
			sum += number
		}
	}
	return sum
}
