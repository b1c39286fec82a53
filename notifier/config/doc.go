// Package config reads the configuration of notifications: the ConfigMap and the Secret of Argo Rollouts, and the annotations by which
// objects subscribe.
//
//	config.go         the keys of the ConfigMap. An entry that is wrong is a Problem, and the others work
//	trigger.go        conditions, and which triggers are of events
//	subscriptions.go  who wants to know: annotations and the key subscriptions
//	secrets.go        $name in a service's settings
//
// What must not be here: clients, clocks, sending.
package config
