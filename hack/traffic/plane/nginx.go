package plane

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// nginx is an NGINX process and its configuration.
type nginx struct {
	address string // where it listens
	folder  string
	log     *slog.Logger
	cmd     *exec.Cmd
	ended   chan error
	program string
	last    string // the configuration that it has

	mu      sync.Mutex
	refused error // the first configuration that it could not read
}

const (
	// nginxStarts is how long NGINX may take to listen, and to end.
	nginxStarts = 10 * time.Second
	configFile  = "nginx.conf"
)

func startNGINX(o Options) (*nginx, error) {
	address, err := freePort()
	if err != nil {
		return nil, err
	}
	n := &nginx{address: address, folder: o.Folder, log: o.Log, program: o.NGINX, ended: make(chan error, 1)}
	if _, err := n.write(view{}); err != nil {
		return nil, err
	}
	n.cmd = exec.Command(o.NGINX, "-p", n.folder, "-c", filepath.Join(n.folder, configFile), "-e", n.logFile(), "-g", "daemon off;")
	n.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	if err := n.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start NGINX: %w", err)
	}
	go func() { n.ended <- n.cmd.Wait() }()
	return n, n.listening()
}

func (n *nginx) logFile() string { return filepath.Join(n.folder, "nginx.log") }

// listening waits until NGINX takes connections.
func (n *nginx) listening() error {
	end := time.Now().Add(nginxStarts)
	for time.Now().Before(end) {
		conn, err := net.DialTimeout("tcp4", n.address, time.Second)
		if err == nil {
			return conn.Close()
		}
		select {
		case err := <-n.ended:
			log, _ := os.ReadFile(n.logFile())
			return fmt.Errorf("NGINX ended: %w: %s", err, log)
		case <-time.After(20 * time.Millisecond):
		}
	}
	return fmt.Errorf("NGINX does not listen on %s after %s", n.address, nginxStarts)
}

// see has NGINX follow a view: it reloads its configuration where that is another now.
func (n *nginx) see(v view) {
	changed, err := n.write(v)
	if err != nil {
		n.log.Error("NGINX keeps its configuration", "error", err)
	}
	if !changed {
		return
	}
	if err := n.readable(); err != nil { // NGINX would log that, and carry on with what it has
		n.log.Error("NGINX keeps its configuration", "error", err)
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.refused == nil {
			n.refused = err
		}
		return
	}
	if err := n.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		n.log.Error("NGINX was not told to reload", "error", err)
	}
}

// readable asks NGINX whether it can read its configuration.
func (n *nginx) readable() error {
	if out, err := exec.Command(n.program, "-t", "-q", "-p", n.folder, "-c", filepath.Join(n.folder, configFile), "-e", n.logFile()).CombinedOutput(); err != nil {
		return fmt.Errorf("NGINX refuses its configuration: %w: %s", err, bytes.TrimSpace(out))
	}
	return nil
}

// write reports whether the view asks for another configuration than the last one, which is written then. NGINX may be reading the last one, so
// the file is replaced as a whole: an NGINX that reads half of a file keeps what it had, and nobody tells it to read again.
func (n *nginx) write(v view) (changed bool, err error) {
	config, problems := render(v, n.address, n.folder)
	if config == n.last {
		return false, nil
	}
	for _, problem := range problems {
		n.log.Warn("not routed", "problem", problem)
	}
	file := filepath.Join(n.folder, configFile)
	if err := os.WriteFile(file+".new", []byte(config), 0o600); err != nil {
		return false, err
	}
	if err := os.Rename(file+".new", file); err != nil {
		return false, err
	}
	n.last = config
	return true, nil
}

// stop ends NGINX. It returns what NGINX refused to read, if anything.
func (n *nginx) stop() error {
	n.mu.Lock()
	refused := n.refused
	n.mu.Unlock()
	return errors.Join(refused, n.end())
}

func (n *nginx) end() error {
	if err := n.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case err := <-n.ended:
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
			return nil // by the signal
		}
		return err
	case <-time.After(nginxStarts):
		return errors.Join(errors.New("NGINX did not end and was killed"), n.cmd.Process.Kill())
	}
}

func freePort() (string, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}
