// Package istio names the release of Istio's API whose CRDs internal/manifests finds in Go's module cache. It has no code.
package istio

import _ "istio.io/api/label" // keeps the module in go.mod
