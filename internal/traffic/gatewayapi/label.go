package gatewayapi

import (
	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// label marks the route while an update is in progress, for GitOps tools to leave it alone meanwhile. A label that several Rollouts want
// stays until the last of them has ended, with the value that the first of them gave it.
//
// Only a label is changed that the notes say is ours, or whose key is the protocol's own, which the plugin sets without a note. One that
// people have set stays: if it has the value that is wanted, there is nothing to do; otherwise its value is returned, as taken.
func (r *route) label(g spec.GatewayAPI, inProgress bool) (value string, taken bool) {
	before := r.mine.Label
	known := g.InProgressKey == v1alpha1.DefaultInProgressLabelKey
	labels := r.object.GetLabels()
	count := len(labels)
	if labels == nil {
		labels = map[string]string{}
	}
	have, there := labels[g.InProgressKey]
	byOthers := r.labelledByOthers(g.InProgressKey)
	free := !there || known || byOthers || before == g.InProgressKey

	r.mine.Label = ""
	if inProgress && free {
		r.mine.Label = g.InProgressKey
	}
	if before != "" && before != r.mine.Label && !r.labelledByOthers(before) {
		delete(labels, before)
	}
	switch {
	case g.InProgressKey == "":
	case !inProgress:
		if known && have == g.InProgressValue && !byOthers { // the plugin's, which noted nothing
			delete(labels, g.InProgressKey)
		}
	case free && (!there || !byOthers):
		labels[g.InProgressKey] = g.InProgressValue
	case !free && have != g.InProgressValue:
		return have, true
	}
	if len(labels) > 0 || count > 0 {
		r.object.SetLabels(orNil(labels))
	}
	return "", false
}

// orNil is no map at all where it would be empty.
func orNil(m map[string]string) map[string]string {
	if len(m) == 0 {
		return nil
	}
	return m
}
