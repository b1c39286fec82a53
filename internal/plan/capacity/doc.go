// Package capacity has the arithmetic of a rollout: how many pods each version may have, and how much traffic they can carry. Whole numbers in,
// whole numbers out: nothing here knows what a Rollout is.
package capacity
