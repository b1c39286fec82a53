// Package login is the door of the dashboard that runs in a cluster: it finds out who sends a request, and gives the dashboard a client with
// that person's rights.
//
//	oidc.go     OpenID Connect: the way to the provider and back, and the renewal of what it said
//	session.go  what a browser keeps of it: encrypted cookies, so that no process has to remember anyone
//	claims.go   the user and the groups to impersonate, by what the provider says
//	token.go    tokens that a proxy or a script sends with each request, passed through to the API server
//
// What must not be here: anything about Rollouts, and decisions about what a person may do, which the API server makes.
package login
