// Package cluster runs a Kubernetes control plane inside this process: etcd, kube-apiserver and the controllers of
// kube-controller-manager that progressive delivery leans on, on simulated nodes.
//
// [Start] brings the parts up in the order in which they need each other, and [Cluster.Stop] takes them down in the
// reverse order:
//
//	folder, lock, port, certificates ──► etcd ──► kube-apiserver ──► controllers and kubelets ──► ready
//
// All that must outlive a restart is in the data folder: etcd's database, the keys and certificates, the port. Nothing is
// shared with another cluster on the same machine, so any number can run side by side, one for each process: the Kubernetes
// libraries keep feature gates and metrics in global variables, which is why this package starts no two in one.
//
// Admission is that of a real cluster: ResourceQuota, LimitRange and PodSecurity refuse what they refuse there.
//
// It is for trying things and for tests. It listens on the loopback interface only, and its nodes run no containers.
package cluster
