// Pins the release of Istio's API whose CRDs the tests install. It is a module of its own, so that nothing that we ship depends on it.
module github.com/sluice-delivery/sluice/hack/istio

go 1.26.0

toolchain go1.26.11

require istio.io/api v1.31.1
