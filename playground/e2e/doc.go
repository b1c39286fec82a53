// Package e2e tests the built sluice-playground from outside, as a user meets it: its output, its exit status, what it leaves
// behind, and whether what it starts is a Kubernetes that rollouts can live in.
//
// The tests run bin/sluice-playground, or what $SLUICE_PLAYGROUND names, rather than link the control plane once more: that
// would cost a minute and 150 MB. Nothing here may import k8s.io/kubernetes or package cluster.
package e2e
