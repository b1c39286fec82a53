// Package dynatrace measures with the Metrics API, version 2, of Dynatrace. What must not be here: how conditions judge.
package dynatrace
