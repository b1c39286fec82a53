//go:build linux

package main

import (
	"encoding/json"
	"runtime"
	"slices"
	"syscall"
	"time"

	"sigs.k8s.io/yaml"
)

// lengths is how often a Rollout is read for the yardstick.
const lengths = 1000

// yardstick is the processor time that this machine needs at this moment for work that is always the same, reading a Rollout from JSON a
// thousand times. Neighbours that share its caches and cores make it longer, and with it all that was measured.
func yardstick() time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	text, err := yaml.YAMLToJSON([]byte(strategies[0].rollout("yardstick", 3)))
	if err != nil {
		panic(err) // it is compiled in
	}
	var tries []time.Duration
	for range 5 {
		before := threadTime()
		for range lengths {
			var read map[string]any
			if err := json.Unmarshal(text, &read); err != nil {
				panic(err) // likewise
			}
		}
		tries = append(tries, threadTime()-before)
	}
	slices.Sort(tries)
	return tries[len(tries)/2]
}

// threadTime is the processor time of this thread.
func threadTime() time.Duration {
	var u syscall.Rusage
	const thread = 1 // RUSAGE_THREAD
	if err := syscall.Getrusage(thread, &u); err != nil {
		panic(err) // Linux knows it
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
