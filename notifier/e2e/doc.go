// Package e2e tests the notifier against the playground's API server, with the controller, and with servers that speak the protocols of
// services: HTTPS, Slack's API and SMTP.
package e2e
