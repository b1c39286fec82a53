//go:build !race

package plan_test

// fewer is how many moments there are for each one that is tried.
const fewer = 1
