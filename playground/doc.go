// Command sluice-playground runs a real Kubernetes control plane in one process, with simulated nodes, for those who want
// to try Sluice, or to test against it, on a machine that has neither Docker nor a cluster.
//
// The commands are here, one file each; the control plane is in package cluster, the simulated nodes in package kubelet.
// This is the only Go module of Sluice that may import k8s.io/kubernetes.
package main
