// Package config holds what is installed into a cluster, as the files that are applied.
package config

import "embed"

// CRDs are the definitions of our kinds, in the folder crd: one file each.
//
//go:embed crd/*.yaml
var CRDs embed.FS
