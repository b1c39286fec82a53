package gatewayapi

import "github.com/sluice-delivery/sluice/internal/spec"

// label marks the route while an update is in progress, for GitOps tools to leave it alone meanwhile. A label that several Rollouts want
// stays until the last of them has ended.
func (r *route) label(g spec.GatewayAPI, inProgress bool) {
	before := r.mine.Label
	r.mine.Label = ""
	if inProgress {
		r.mine.Label = g.InProgressKey
	}
	r.notes.set(r.owner, r.mine)
	labels := r.object.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	count := len(labels)
	if before != "" && !r.notes.labelled(before) {
		delete(labels, before)
	}
	switch key, value := g.InProgressKey, g.InProgressValue; {
	case key == "":
	case inProgress:
		labels[key] = value
	case labels[key] == value && !r.notes.labelled(key): // the plugin's, which noted nothing
		delete(labels, key)
	}
	if len(labels) > 0 || count > 0 {
		r.object.SetLabels(orNil(labels))
	}
}
