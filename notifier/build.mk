# The notifier is a Go module of its own, so that nothing else of Sluice is built with the clients of twenty services. Included by ../Makefile.

.PHONY: bin/sluice-notifier
bin/sluice-notifier:
	cd notifier && CGO_ENABLED=0 go build -ldflags '$(ldflags)' -o ../bin/sluice-notifier .
