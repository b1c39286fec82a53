// Package measure decides what an AnalysisRun measures next, judges what came back, and says how the run is doing. It is to an
// AnalysisRun what package plan is to a Rollout.
//
// [Next] is a pure function: it takes what was observed, including results of measurements, and returns a [Plan]: what to
// measure, continue or stop now, the complete next status, events, and when to reconcile again.
//
//	observed.go   what a decision depends on
//	plan.go       what is decided
//	next.go       the story of a pass
//	argument.go   {{args.name}} in metrics, and values that must not be shown
//	limits.go     count, interval and the limits of a metric, resolved
//	judge.go      a result becomes a measurement, by the conditions of its metric
//	assess.go     the measurements of a metric become a phase, and those of all metrics a verdict
//	due.go        which metrics are measured now, and which when
//	end.go        ending early, measurements that are kept no longer, and the end of the run itself
//
// It stands beside package analysis, which merges templates, and not in it: the engine of Rollouts merges templates too, and should
// not have to bring the language of conditions along for that.
//
// Why a crash does no harm: a measurement counts when it is in the status, and once. Results carry the number of their measurement, and
// one that the status has already is dropped. What was under way when the controller died is not in the status and is measured again;
// what takes long, and leaves traces, is recorded before it is begun.
//
// What must not be here: clocks, clients, providers at work; and values of Secrets in anything that is written.
package measure
