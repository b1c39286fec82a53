// Package elb asks AWS by which weights its load balancers forward requests, and whether the pods behind them are registered.
//
// Many Rollouts share an account, whose requests AWS limits: what is read is kept for seconds, or minutes where it hardly changes, and requests
// are sent at a limited rate. An error is never an answer.
package elb
