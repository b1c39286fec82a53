package plugin

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// State is how a plugin is doing that was needed.
type State struct {
	ID
	// Running: its process has shaken hands.
	Running bool
	// Starts and Failures count since the plugin was listed.
	Starts, Failures int
	// Problem is why it does not run; empty while it runs, or is being started.
	Problem string
}

// States are the plugins that were needed, in the order of their kinds and names.
func (h *Host) States() []State {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []State
	for id, k := range h.keepers {
		s := State{ID: id, Running: k.process != nil && !k.process.session.IsClosed(), Starts: k.starts, Failures: k.ills}
		if !s.Running && k.starting == nil && k.err != nil {
			s.Problem = short(k.err.Error())
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b State) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name)) })
	return all
}

// Ill are the plugins that do not run although they are needed, and the entries of the ConfigMap that cannot be used, each with the reason.
func (h *Host) Ill() []string {
	var all []string
	for _, s := range h.States() {
		if s.Problem != "" {
			all = append(all, s.Problem)
		}
	}
	config, _ := h.known()
	for _, p := range config.Problems {
		all = append(all, short(fmt.Sprintf("ConfigMap %s: %s", v1alpha1.ConfigMapName, p)))
	}
	return all
}
