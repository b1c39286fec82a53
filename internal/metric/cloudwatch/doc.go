// Package cloudwatch measures by queries to Amazon CloudWatch. The result is a list with an object for each query that returns data.
//
//	cloudwatch.go   what is asked: GetMetricData of the Query API
//	xml.go          the answer
package cloudwatch
