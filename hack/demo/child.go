//go:build unix

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// child is a program that runs until it is told to stop. It is the leader of a process group of its own: Ctrl-C reaches only the
// demo, which stops its children in order and waits for them.
type child struct {
	name string
	log  string // what it writes to stderr, and to stdout unless that is read
	cmd  *exec.Cmd
	// ended is closed when the program has ended, after which err says how.
	ended chan struct{}
	err   error
}

// patience is how long a program may take to stop before it is made to.
const patience = 15 * time.Second

// start starts a program. If stdout is not nil, it gets what the program writes there. Unless the program outlives the demo, it ends
// at the latest when the demo does.
func start(folder string, outlives bool, stdout *os.File, path string, args ...string) (*child, error) {
	c := &child{name: filepath.Base(path), cmd: exec.Command(path, args...), ended: make(chan struct{})}
	c.log = filepath.Join(folder, c.name+".log")
	log, err := os.Create(c.log)
	if err != nil {
		return nil, err
	}
	defer log.Close() //nolint:errcheck // the child has a descriptor of its own
	c.cmd.Stdout, c.cmd.Stderr = log, log
	if stdout != nil {
		c.cmd.Stdout = stdout
	}
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if !outlives { // its files go with the folder, even if it has to be killed
		c.cmd.Env = append(os.Environ(), "TMPDIR="+folder)
		endWithParent(c.cmd.SysProcAttr)
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		c.err = c.cmd.Wait()
		close(c.ended)
	}()
	return c, nil
}

// end is how the program ended, in words.
func (c *child) end() error {
	if c.err == nil {
		return fmt.Errorf("%s ended by itself", c.name)
	}
	return fmt.Errorf("%s ended: %w", c.name, c.err)
}

// stop ends the program and everything it has started.
func (c *child) stop() {
	group := -c.cmd.Process.Pid
	select {
	case <-c.ended:
		return
	default:
	}
	_ = syscall.Kill(group, syscall.SIGTERM) // it may just have ended
	select {
	case <-c.ended:
	case <-time.After(patience):
		fmt.Fprintf(os.Stderr, "demo: %s did not stop within %s and was killed\n", c.name, patience)
		_ = syscall.Kill(group, syscall.SIGKILL)
		<-c.ended
	}
}

// logTail is the end of what the program has written.
func (c *child) logTail(lines int) string {
	f, err := os.Open(c.log)
	if err != nil {
		return err.Error()
	}
	defer f.Close() //nolint:errcheck // it was only read
	if info, err := f.Stat(); err == nil {
		_, _ = f.Seek(max(0, info.Size()-64<<10), io.SeekStart) // from the start if that fails
	}
	text, err := io.ReadAll(f)
	if err != nil && !errors.Is(err, io.EOF) {
		return err.Error()
	}
	all := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
