// Package nginx splits traffic with ingress-nginx: a canary Ingress beside each Ingress that routes to the stable Service, whose
// annotations say which share of the same requests goes to the canary.
//
// The stable Ingress is read and never written. The canary Ingress belongs to the Rollout and goes with it. It is there from the start,
// with weight 0, so that its creation never stands between a step and its traffic. It has those rules and paths of the stable one that
// go to the stable Service and no others: a path that is not split has no business in it.
package nginx
