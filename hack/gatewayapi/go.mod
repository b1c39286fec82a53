// Pins the release of the Gateway API whose CRDs the tests install. It is a module of its own, so that nothing that we ship depends on it.
module github.com/sluice-delivery/sluice/hack/gatewayapi

go 1.26.0

toolchain go1.26.11

require sigs.k8s.io/gateway-api v1.6.3
