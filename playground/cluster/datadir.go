package cluster

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// dataDir is the folder that holds everything of one cluster, locked for as long as it is open.
type dataDir struct {
	root string
	// temporary folders are removed on close, so what is in them need not survive a power cut either.
	temporary bool
	// socketDir is for unix sockets: the root, unless its path is too long for them.
	socketDir string
	lock      *os.File
}

// maxSocketDir leaves room for the socket's own name: a socket's path has at most 104 (macOS) or 108 (Linux) bytes.
const maxSocketDir = 90

func openDataDir(root string) (_ *dataDir, err error) {
	d := &dataDir{root: root, temporary: root == ""}
	defer func() {
		if err != nil {
			d.close()
		}
	}()
	if d.temporary {
		if d.root, err = os.MkdirTemp("", "sluice-playground-"); err != nil {
			return nil, fmt.Errorf("create a temporary folder: %w", err)
		}
	}
	if d.root, err = filepath.Abs(d.root); err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	// Others on the machine must not read it: the keys inside give every right on the cluster.
	if err := os.MkdirAll(d.root, 0o700); err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	if err := d.takeLock(); err != nil {
		return nil, err
	}
	d.socketDir = d.root
	if len(d.root) > maxSocketDir {
		if d.socketDir, err = os.MkdirTemp("/tmp", "sluice-playground-"); err != nil {
			return nil, fmt.Errorf("create a folder for sockets, as %s is too long a path for them: %w", d.root, err)
		}
	}
	return d, nil
}

// path of a file in the folder.
func (d *dataDir) path(elem ...string) string {
	return filepath.Join(append([]string{d.root}, elem...)...)
}

// takeLock fails at once if another process has the folder. The lock is the kernel's, so it goes with the process however
// that ends; the number inside is for people.
func (d *dataDir) takeLock() error {
	lock, err := os.OpenFile(d.path("lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("data folder is not writable: %w", err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		holder, _ := os.ReadFile(lock.Name())
		_ = lock.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return fmt.Errorf("data folder %s is in use by another playground (process %s)", d.root, strings.TrimSpace(string(holder)))
		}
		return fmt.Errorf("lock data folder %s: %w", d.root, err)
	}
	d.lock = lock
	if err := os.WriteFile(lock.Name(), fmt.Appendln(nil, os.Getpid()), 0o600); err != nil {
		return fmt.Errorf("data folder is not writable: %w", err)
	}
	return nil
}

func (d *dataDir) close() {
	if d.socketDir != "" && d.socketDir != d.root {
		_ = os.RemoveAll(d.socketDir)
	}
	if d.temporary && d.root != "" {
		_ = os.RemoveAll(d.root)
	}
	if d.lock != nil {
		_ = d.lock.Close()
	}
}

// listen opens the API server's port: the one asked for; or else the one of the last run, so that kubeconfigs made then
// still work; or else any.
func (d *dataDir) listen(port int) (net.Listener, error) {
	if port != 0 {
		return d.listenOn(port)
	}
	if last, err := os.ReadFile(d.path("port")); err == nil {
		// What is not a number, or taken by now, is as good as no last port.
		if port, err := strconv.Atoi(strings.TrimSpace(string(last))); err == nil {
			if listener, err := d.listenOn(port); err == nil {
				return listener, nil
			}
		}
	}
	return d.listenOn(0)
}

func (d *dataDir) listenOn(port int) (net.Listener, error) {
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("port %d is taken by another process", port)
	}
	if err != nil {
		return nil, fmt.Errorf("listen on port %d: %w", port, err)
	}
	opened := listener.Addr().(*net.TCPAddr).Port
	if err := os.WriteFile(d.path("port"), fmt.Appendln(nil, opened), 0o600); err != nil {
		_ = listener.Close()
		return nil, fmt.Errorf("data folder is not writable: %w", err)
	}
	return listener, nil
}
