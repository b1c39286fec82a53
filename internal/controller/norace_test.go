//go:build !race

package controller

import "time"

// loadFor is how long the load test measures, in virtual time.
const loadFor = 10 * time.Minute
