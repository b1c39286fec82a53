package main

import "syscall"

// endWithParent has the kernel stop the child if the demo is killed before it can do so.
func endWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGTERM }
