// Package analysis makes AnalysisRuns of AnalysisTemplates.
//
// A Rollout names templates, templates name others, and all of them together are one AnalysisRun:
//
//	template.go  which templates there are, depth first and each once
//	merge.go     their metrics and settings, put together
//	argument.go  the values of their arguments, with what the Rollout says last
//	field.go     a field of the Rollout as the value of an argument
//	metric.go    whether the result can be measured and will come to an end
//
// Mistakes are not returned as an error but as a list of problems that name the field, the template and the metric:
// templates belong to other people, and may be fixed at any time.
//
// What must not be here: clients, clocks, measuring.
package analysis
