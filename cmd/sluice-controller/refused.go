package main

import (
	"errors"

	"github.com/spf13/pflag"
)

// refused is a flag of upstream's controller that has no effect here. Whoever sets it is told so, and what to do: a flag that is
// taken and ignored is worse than one that is not there.
type refused struct{ remedy string }

func (refused) String() string { return "" }
func (refused) Type() string   { return "string" }
func (r refused) Set(string) error {
	return errors.New("this controller has no such flag: " + r.remedy) // mistake says of which it is
}

// refuse adds upstream's flags that this controller does not have, out of sight.
func refuse(f *pflag.FlagSet) {
	const (
		inPasses = "Services, Ingresses and labels of pods are seen to in the passes over Rollouts; leave it out, and set --rollout-threads"
		noRouter = "this version has no such traffic router; leave it out"
		served   = "the version that the cluster serves is found by itself; leave it out"
	)
	for name, remedy := range map[string]string{
		"service-threads":                       inPasses,
		"ingress-threads":                       inPasses,
		"ephemeral-metadata-threads":            inPasses,
		"ephemeral-metadata-update-pod-retries": "a pod that changed meanwhile is looked at again in the next pass; leave it out",
		"aws-target-group-binding-api-version":  noRouter,
		"alb-tag-key-resource-id":               noRouter,
		"alb-ingress-classes":                   noRouter,
		"aws-verify-target-group":               noRouter,
		"alb-verify-weight":                     noRouter,
		"istio-api-version":                     noRouter,
		"ambassador-api-version":                noRouter,
		"traffic-split-api-version":             noRouter,
		"traefik-api-group":                     noRouter,
		"traefik-api-version":                   noRouter,
		"appmesh-crd-version":                   noRouter,
		"ingress-api-version":                   served,
		"nginx-ingress-classes":                 "the Ingresses that a Rollout names are the ones that are used; leave it out",
		"self-service-notification-enabled":     "this version sends no notifications; leave it out",
		"controllers":                           "this version runs all of its controllers; leave it out",
	} {
		f.Var(refused{remedy}, name, "refused: "+remedy)
		flag := f.Lookup(name)
		flag.Hidden, flag.NoOptDefVal = true, "true"
	}
}
