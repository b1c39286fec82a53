// Package server is how providers talk to servers over HTTP: one place for certificates, headers, tokens, redirects and for how much a
// server may answer.
//
//	ask.go       one question and its answer: retries, deadline, errors
//	graphql.go   the same in GraphQL
//	client.go    headers, tokens, redirects, and how much may be read
//	network.go   which addresses may be asked
//
// Connections are shared by all measurements. They are made by one dialer, which refuses addresses that a measurement has no business with
// (network.go), after names were resolved. What must not be here: what is asked, and what the answer means.
package server
