// Command release writes the software bill of materials of a Go program: a CycloneDX document of the modules that the Go linker recorded
// in it, so it lists what the program contains, and not what go.mod might pull in.
//
//	release PROGRAM >PROGRAM.cdx.json
package main

import (
	"debug/buildinfo"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: release PROGRAM")
		os.Exit(2)
	}
	if err := write(os.Stdout, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// write writes the bill of materials of a program. It has no time and no random number in it: the same program gives the same document.
func write(out io.Writer, program string) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return fmt.Errorf("read the build information of %s: %w", program, err)
	}
	encoder := cdx.NewBOMEncoder(out, cdx.BOMFileFormatJSON)
	return encoder.SetPretty(true).EncodeVersion(bill(filepath.Base(program), info), cdx.SpecVersion1_6)
}

func bill(name string, info *debug.BuildInfo) *cdx.BOM {
	bom := cdx.NewBOM()
	self := cdx.Component{Type: cdx.ComponentTypeApplication, Name: name, BOMRef: purl(info.Main.Path, info.Main.Version), PackageURL: purl(info.Main.Path, info.Main.Version)}
	bom.Metadata = &cdx.Metadata{Component: &self}
	components := []cdx.Component{{Type: cdx.ComponentTypeLibrary, Name: "std", Version: info.GoVersion, BOMRef: purl("std", info.GoVersion), PackageURL: purl("std", info.GoVersion)}}
	uses := []string{components[0].BOMRef}
	for _, dep := range info.Deps {
		m := dep
		if m.Replace != nil {
			m = m.Replace
		}
		c := cdx.Component{Type: cdx.ComponentTypeLibrary, Name: m.Path, Version: m.Version, BOMRef: purl(m.Path, m.Version), PackageURL: purl(m.Path, m.Version)}
		if m.Sum != "" {
			c.Properties = &[]cdx.Property{{Name: "go.sum", Value: m.Sum}}
		}
		components = append(components, c)
		uses = append(uses, c.BOMRef)
	}
	bom.Components = &components
	bom.Dependencies = &[]cdx.Dependency{{Ref: self.BOMRef, Dependencies: &uses}}
	return bom
}

// purl is a Go module's package URL (https://github.com/package-url/purl-spec, type golang).
func purl(path, version string) string {
	if version == "" || version == "(devel)" {
		return "pkg:golang/" + path
	}
	return "pkg:golang/" + path + "@" + version
}
