package main

import (
	"errors"

	"github.com/spf13/pflag"
)

// refused is a flag of Argo Rollouts that has no effect here. A user who sets it learns so, and what to do: a flag that is
// taken and ignored is worse than one that is not there.
type refused struct{ remedy string }

func (refused) String() string { return "" }
func (refused) Type() string   { return "string" }
func (r refused) Set(string) error {
	return errors.New("this controller has no such flag: " + r.remedy) // mistake says of which it is
}

// refuse adds the flags of Argo Rollouts that this controller does not have, hidden.
func refuse(f *pflag.FlagSet) {
	const (
		inPasses = "Services, Ingresses and labels of pods are seen to in the passes over Rollouts; leave it out, and set --rollout-threads"
		noRouter = "target groups are found by the tags of the AWS Load Balancer Controller; leave it out"
		served   = "the version that the cluster serves is found by itself; leave it out"
	)
	for name, remedy := range map[string]string{
		"service-threads":                       inPasses,
		"ingress-threads":                       inPasses,
		"ephemeral-metadata-threads":            inPasses,
		"ephemeral-metadata-update-pod-retries": "a pod that has changed is read again in the next reconcile; remove the flag",
		"aws-target-group-binding-api-version":  "TargetGroupBindings are found in both groups that have them, elbv2.k8s.aws and eks.amazonaws.com; leave it out",
		"alb-tag-key-resource-id":               noRouter,
		"alb-ingress-classes":                   "the Ingresses that a Rollout names are the ones that are used; leave it out",
		"traefik-api-group":                     "TraefikServices are found in both groups that Traefik has had; leave it out",
		"traefik-api-version":                   "TraefikServices are found in both groups that Traefik has had; leave it out",
		"appmesh-crd-version":                   "AWS App Mesh ended on 30 September 2026; leave it out",
		"ingress-api-version":                   served,
		"nginx-ingress-classes":                 "the Ingresses that a Rollout names are the ones that are used; leave it out",
		"self-service-notification-enabled":     "sluice-notifier sends notifications; give it this flag",
		"controllers":                           "this version runs all of its controllers; leave it out",
	} {
		f.Var(refused{remedy}, name, "refused: "+remedy)
		flag := f.Lookup(name)
		flag.Hidden, flag.NoOptDefVal = true, "true"
	}
}
