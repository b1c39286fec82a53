// Package aws is the controller's identity at Amazon Web Services: it finds credentials by the SDK's default chain (environment, web identity,
// pod identity, profiles, the instance) and signs requests of providers with them.
//
// Of the SDK only the credentials and the signature are used. The requests themselves go over package server like all others: one place for
// retries, bounds and addresses that may not be asked.
package aws
