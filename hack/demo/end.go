//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// cleanUp leaves nothing behind: no program, no file. What was started last stops first.
func (s *story) cleanUp() {
	for _, c := range slices.Backward(s.children) {
		c.stop()
	}
	if err := os.RemoveAll(s.folder); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
	}
}

// showLogs shows the end of each program's log, so that the reason of a failure need not be guessed.
func (s *story) showLogs() {
	for _, c := range s.children {
		fmt.Fprintf(os.Stderr, "\nThe end of the log of %s:\n%s\n", c.name, c.logTail(20))
	}
}

// explain says how to use what is left up, and how to end it.
func (s *story) explain() {
	bin, err := filepath.Abs("bin")
	if err != nil {
		bin = "bin"
	}
	var pids []string
	for _, c := range slices.Backward(s.children) {
		pids = append(pids, fmt.Sprint(c.cmd.Process.Pid))
	}
	fmt.Printf(`
Everything is left up. To use it:
  export KUBECONFIG=%[1]s PATH=%[2]s:$PATH
  sluice get rollout %[3]s -w
  sluice set image %[3]s %[4]s=%[5]s
  sluice-playground kubectl get pods
The logs are in %[6]s.
To end it:
  kill %[7]s && rm -r %[6]s
`, s.kubeconfig(), bin, s.example.rollout, s.example.container, s.example.image, s.folder, strings.Join(pids, " "))
}
