// Package buildinfo tells which Sluice this is.
package buildinfo

import "runtime/debug"

// version is set when a release is built: -ldflags "-X github.com/sluice-delivery/sluice/internal/buildinfo.version=v1.2.3".
var version string

// Version is the release, or for other builds what the Go toolchain knows, such as "devel".
func Version() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}
