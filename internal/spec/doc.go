// Package spec turns a Rollout as people write it into one that a program can use: flat, with every default filled in, durations
// parsed, percentages resolved and the steps a closed sum.
//
// [Resolve] does it once. What comes after it never reads an optional pointer and never asks which strategy was meant. What is
// wrong with the spec, and what this version of Sluice cannot do yet, comes back as [Problem] values that name the field, so that
// nothing is ever silently ignored.
//
// The package also owns the identity of a version: the hash of a pod template ([PodHash]) and the question whether two
// templates mean the same pods ([SameTemplate]).
//
// What must not be here: anything that looks at another object than the Rollout, or at the time.
package spec
