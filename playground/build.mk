# The playground is a Go module of its own, so that nothing else of Sluice can import k8s.io/kubernetes. Included by ../Makefile.

# Without these the API server says that it has no version, and clients refuse to talk to it.
playground_ldflags := $(shell cat playground/ldflags)

# Without cgo there is no package plugin, which kustomize imports for a feature that nobody uses here. With it the linker must
# keep and export every symbol, for plugins to find: 30 MB. What shares packages with this should be built without cgo as well,
# or Go compiles them once more.
#
# Whether it is up to date is for Go to say: it does so in seconds.
.PHONY: bin/sluice-playground
bin/sluice-playground:
	cd playground && CGO_ENABLED=0 go build -ldflags '$(playground_ldflags)' -o ../bin/sluice-playground .
