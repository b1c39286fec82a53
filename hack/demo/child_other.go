//go:build unix && !linux

package main

import "syscall"

// endWithParent is for Linux only; elsewhere a demo that is killed leaves its children.
func endWithParent(*syscall.SysProcAttr) {}
