package playtest

import (
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// As returns a client with the rights of a new service account of this namespace, which may do what the rules say, in this namespace and
// nowhere else.
func (ns *Namespace) As(account string, rules ...rbacv1.PolicyRule) client.WithWatch {
	ns.t.Helper()
	meta := metav1.ObjectMeta{Namespace: ns.Name, Name: account}
	for _, obj := range []client.Object{
		&corev1.ServiceAccount{ObjectMeta: meta},
		&rbacv1.Role{ObjectMeta: meta, Rules: rules},
		&rbacv1.RoleBinding{
			ObjectMeta: meta,
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: account},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: ns.Name, Name: account}},
		},
	} {
		if err := ns.Client.Create(ns.t.Context(), obj); err != nil {
			ns.t.Fatal(err)
		}
	}
	config, err := clientcmd.BuildConfigFromFlags("", ns.KubeconfigOf(account))
	if err != nil {
		ns.t.Fatal(err)
	}
	as, err := client.NewWithWatch(config, client.Options{Scheme: ns.Client.Scheme()})
	if err != nil {
		ns.t.Fatal(err)
	}
	return as
}
