// Package datadog measures by a query to Datadog: to its API v1, whose last point is the result, or to v2, which joins several queries by a
// formula and tells groups apart.
//
//	datadog.go      what the metric asks for, and where the credentials are
//	timeseries.go   v1
//	scalar.go       v2
package datadog
