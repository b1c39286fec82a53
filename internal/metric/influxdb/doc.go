// Package influxdb measures by a query in Flux to InfluxDB's HTTP API. The result is the list of all values.
//
//	influxdb.go   what is asked
//	csv.go        the answer: annotated CSV
package influxdb
