// Package graphite measures by a query to Graphite's render API. The result is the values of the first series.
package graphite
