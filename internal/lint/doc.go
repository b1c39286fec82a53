// Package lint finds what is wrong with manifests before they are applied: everything, not the first, each with its line.
//
//	lint.go       files → findings
//	document.go   text → objects that know on which lines their fields are
//	shape.go      one object: fields that there are not, and values of the wrong sort
//	schema.go     one object: the CRD's schema and rules, and what the engine refuses
//	reference.go  among objects: what they name, and whether that fits
//	routing.go    routes and Ingresses that are to split a Rollout's traffic
//	argument.go   arguments of analyses
//	plugins.go    the ConfigMap that lists plugins
//	notifications.go
//	              the ConfigMap of notifications, which another program checks
//	rule.go       the names of what is found
//	ignore.go     the annotation that silences rules
//	format.go     findings as text, JSON, and annotations of GitHub
//	sarif.go      findings as a SARIF log
//
// What is wrong is an error: the API server or the controller would refuse it. What only may be wrong is a warning: a name that is not
// in these files may be in others, and a hazard (package hazard) may be meant.
//
// What must not be here: clusters, files, colors. It gets texts, and reports.
package lint
