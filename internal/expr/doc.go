// Package expr evaluates the expressions that people write in analyses: success and failure conditions, and the bounds of a
// Prometheus range. The language is that of github.com/expr-lang/expr.
//
//	condition.go  does a condition hold for what was measured? is it well formed?
//	time.go       the instant that the bound of a range stands for
//	helper.go     asInt, asFloat, isNaN, isInf, isNil, default
//	data.go       is there anything to judge at all?
//	compile.go    expressions are compiled, and kept by cache.go, so that each is compiled once
//	budget.go     what an expression may cost; cost.go says what each operator and function does cost
//
// Expressions come from people who may write AnalysisTemplates, and what they work on comes from servers. So both are bounded: every
// value that an operator or a function works through is counted first, and so is every round of a loop. Patterns of `matches` are constants
// with a bounded number of instructions, and cost their instructions times the text. The count depends on nothing but the expression and
// the value, so that equal inputs come to equal ends, on a slow machine too.
//
// What must not be here: clocks (the time is an argument, also where an expression asks for now()), metrics, Kubernetes.
package expr
