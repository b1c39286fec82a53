// Package resourcemetrics serves the playground's resource-metrics API (metrics.k8s.io/v1beta1), as metrics-server does in a cluster: kubectl top
// shows it, and HorizontalPodAutoscalers scale by it. The processor time of a pod that is an HTTP server (package serve) is what its requests cost;
// every other container idles.
package resourcemetrics
