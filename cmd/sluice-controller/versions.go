package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sluice-delivery/sluice/internal/traffic/routers"
)

// version is a flag with the version in which kinds of a traffic router are read and written.
type version struct {
	kinds []schema.GroupVersionKind
	in    map[schema.GroupKind]string
}

func (v version) String() string {
	if len(v.kinds) == 0 {
		return ""
	}
	return v.in[v.kinds[0].GroupKind()]
}

func (version) Type() string { return "version" }

// Set takes a version alone, or behind its group.
func (v version) Set(text string) error {
	is := v.kinds[0]
	known := routers.Versions(is)
	text = strings.TrimPrefix(text, is.Group+"/")
	if !slices.Contains(known, text) {
		return fmt.Errorf("%s of %s has the versions %s", is.Kind, is.Group, strings.Join(known, ", "))
	}
	for _, kind := range v.kinds {
		v.in[kind.GroupKind()] = text
	}
	return nil
}

// addVersions adds the flags for versions. Without one, the best version that the cluster serves is used.
func addVersions(f *pflag.FlagSet, in map[schema.GroupKind]string) {
	for name, kinds := range routers.VersionFlags() {
		f.Var(version{kinds, in}, name, fmt.Sprintf("`VERSION` in which %ss are read and written; by default, the first one that the cluster serves of %s",
			kinds[0].Kind, strings.Join(routers.Versions(kinds[0]), ", ")))
	}
}
