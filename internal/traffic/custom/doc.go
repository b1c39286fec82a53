// Package custom splits traffic in objects of kinds that no other router knows, by what the Rollout's spec says about them: paths of the
// lists that have the weights, and a CEL expression for the Service that an entry of such a list leads to.
//
// Because both directions follow from one description, weights are read as they are written. Only fields below spec are written, and only
// when they differ. What is added, rules for header routes and fields with hashes, is noted in an annotation, so that it can be found and
// removed without the Rollout: the note has the rules as they were written, and an entry of the list is such a rule if it has all that the
// note has. So defaults of the API server do not make a rule unknown.
//
// docs/design/custom-router.md says why it is made so.
package custom
