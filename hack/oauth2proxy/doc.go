// Package oauth2proxy pins the oauth2-proxy that examples/dashboard names, which a test starts with the arguments of the example.
//
//	make oauth2-proxy
package oauth2proxy
