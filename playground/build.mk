# The playground is a Go module of its own, so that nothing else of Sluice can import k8s.io/kubernetes. Included by ../Makefile.

# Without these the API server says that it has no version, and clients refuse to talk to it.
playground_ldflags := $(shell cat playground/ldflags)

# Whether it is up to date is for Go to say: it does so in seconds.
.PHONY: bin/sluice-playground
bin/sluice-playground:
	cd playground && go build -ldflags '$(playground_ldflags)' -o ../bin/sluice-playground .
