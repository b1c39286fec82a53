// Package server is how providers talk to servers over HTTP: one place for certificates, headers, tokens, redirects and for how much a
// server may answer.
//
// Connections are shared by all measurements. What must not be here: what is asked, and what the answer means.
package server
