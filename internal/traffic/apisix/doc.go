// Package apisix splits traffic in an ApisixRoute of Apache APISIX: by the weights of the two Services among the backends of its rules.
//
// The ApisixRoute belongs to its author, who lists both Services. Only their weights are written. A header route is an ApisixRoute of its own,
// which belongs to the Rollout: a copy of the rules with a higher priority, more conditions, and the canary alone.
package apisix
