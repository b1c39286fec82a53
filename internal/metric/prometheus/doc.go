// Package prometheus measures by a query to Prometheus, or to what speaks its API. The value is a list of numbers for a vector and for
// a range, and a number for a scalar.
package prometheus
