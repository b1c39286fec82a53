// Package gatewayapi names the release of the Gateway API whose CRDs internal/manifests finds in Go's module cache. It has no code.
package gatewayapi

import _ "sigs.k8s.io/gateway-api/pkg/consts" // keeps the module in go.mod
