// Package plugin measures by programs that the administrator lists in the ConfigMap argo-rollouts-config (internal/plugin keeps them).
//
// The plugin judges what it measures itself: its phase counts, and the metric's conditions are its own affair. A call whose answer was lost
// is made again.
package plugin
