// Package prometheus pins the Prometheus server and promtool that tests ask where the machine has none; see install.sh.
package prometheus
