# Generates what follows from the types in api/: their deep copies and the CRDs. Included by the Makefile.

CONTROLLER_GEN = go tool -modfile=hack/tools/go.mod controller-gen

.PHONY: generate-api
generate-api: ## Regenerate deep copies and CRDs from the types in api/
	$(CONTROLLER_GEN) object paths=./api/...
	$(CONTROLLER_GEN) crd paths=./api/... output:crd:dir=config/crd
	$(CONTROLLER_GEN) crd:maxDescLen=0 paths=./hack/crd/pods output:crd:dir=hack/crd/pods
	go run ./hack/crd config/crd
