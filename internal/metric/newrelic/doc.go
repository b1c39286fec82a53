// Package newrelic measures by a query in NRQL to New Relic's NerdGraph API. The result is an object for one row, and a list for several.
package newrelic
