package playtest

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
)

// WaitForDeployment watches a Deployment until it is as wanted; what says what that is.
func (ns *Namespace) WaitForDeployment(name, what string, wanted func(*appsv1.Deployment) bool) {
	ns.t.Helper()
	ctx, cancel := context.WithTimeout(ns.t.Context(), Patience)
	defer cancel()
	if err := await(ctx, ns.Client, &appsv1.DeploymentList{}, ns.Name, name, wanted); err != nil {
		ns.t.Fatalf("wait for Deployment %s %s: %v", name, what, err)
	}
}
