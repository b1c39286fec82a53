// Package e2e tries the traffic routers on a real API server: what they write must be taken, and must be what is read again.
package e2e
