// What a release needs beyond Go: CycloneDX's types. A module of its own, so that nothing that ships depends on it.
module github.com/sluice-delivery/sluice/hack/release

go 1.26.0

toolchain go1.26.11

require github.com/CycloneDX/cyclonedx-go v0.12.0
