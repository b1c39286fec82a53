// Package promql checks the syntax of PromQL queries with Prometheus' own parser, including queries whose arguments have no values yet. What must
// not be here: sending queries, and reading their answers. Only the command line imports it: the parser would make the controller larger.
package promql
