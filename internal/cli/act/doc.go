// Package act is how people change a Rollout: what `promote`, `abort`, `retry`, `undo` and `set image` write. The command line and the
// dashboard have the same actions from here.
//
//	patch.go     fields of a status and a spec, the status first and through its subresource
//	promote.go   how far to promote
//	steer.go     abort and retry, or why there is nothing to write
//	template.go  the object that holds the pod template: the Rollout, or what it refers to
//	image.go     container images
//	undo.go      the return to an earlier revision
//	compare.go   two versions of the pod template
//
// What is written is wire format: access rules depend on which verb goes to which resource.
//
// What must not be here: decisions about rollouts, and words for terminals only.
package act
