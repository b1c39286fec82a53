//go:build !race

package story

// fewer is how many moments there are for each one that is tried.
const fewer = 1
