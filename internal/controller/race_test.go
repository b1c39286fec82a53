//go:build race

package controller

import "time"

// loadFor is shorter where everything takes several times as long.
const loadFor = 140 * time.Second
