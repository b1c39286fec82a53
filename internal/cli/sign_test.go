package cli

import (
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	k8stesting "k8s.io/client-go/testing"
)

// What people do to Rollouts is followed by an event that names them, which notifications show. Where there was nothing to do, or nobody knows who they
// are, or they may not write events, there is none, and all else is the same.
func TestActionsAreSigned(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "events"}, "", errors.New("no role"))
	for name, c := range map[string]struct {
		status, who string
		refused     error
		args        string
		want        string
	}{
		"promote":                        {paused, "jane", nil, "promote web", "promoted by jane"},
		"promote --full":                 {paused, "jane", nil, "promote web --full", "promoted in full by jane"},
		"promote -c":                     {paused, "jane", nil, "promote web -c", "step skipped by jane"},
		"promote -a":                     {paused, "jane", nil, "promote web -a", "all steps skipped by jane"},
		"nothing to promote":             {promoted, "jane", nil, "promote web", ""},
		"abort":                          {midStep, "system:serviceaccount:ci:deployer", nil, "abort web", "aborted by system:serviceaccount:ci:deployer"},
		"aborted already":                {aborted, "jane", nil, "abort web", ""},
		"retry":                          {aborted, "jane", nil, "retry rollout web", "retried by jane"},
		"pause":                          {midStep, "jane", nil, "pause web", "paused by jane"},
		"restart":                        {promoted, "jane", nil, "restart web", "pods restarted by jane"},
		"set image":                      {promoted, "jane", nil, "set image web nginx=nginx:2", "image set by jane"},
		"the same image":                 {promoted, "jane", nil, "set image web nginx=nginx:1", ""},
		"undo":                           {promoted, "jane", nil, "undo web", "undone by jane"},
		"undo --dry-run":                 {promoted, "jane", nil, "undo web --dry-run", ""},
		"a cluster that does not say":    {paused, "", nil, "promote web", ""},
		"nobody who is logged in":        {paused, "system:anonymous", nil, "promote web", ""},
		"someone who may not write them": {paused, "jane", forbidden, "promote web", "promoted by jane"},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := newCluster(t, web("", c.status), replicaSet("a", 1), replicaSet("b", 2))
			plain := cluster.run(t.Context(), strings.Fields(c.args)...)

			cluster = newCluster(t, web("", c.status), replicaSet("a", 1), replicaSet("b", 2))
			cluster.PrependReactor("create", "selfsubjectreviews", func(k8stesting.Action) (bool, runtime.Object, error) {
				return true, &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"userInfo": map[string]any{"username": c.who}}}}, nil
			})
			cluster.PrependReactor("create", "events", func(k8stesting.Action) (bool, runtime.Object, error) { return c.refused != nil, nil, c.refused })
			r := cluster.run(t.Context(), strings.Fields(c.args)...)
			if r.code != 0 || r.out != plain.out || r.err != plain.err {
				t.Errorf("%+v, and without a name %+v", r, plain)
			}
			var events []string
			for _, line := range cluster.writes() {
				if strings.HasPrefix(line, "create events ") {
					events = append(events, line)
				}
			}
			if c.want == "" {
				if len(events) > 0 {
					t.Error(events)
				}
				return
			}
			for _, part := range []string{`"message":"` + c.want + `"`, `"reason":"UserAction"`, `"source":{"component":"sluice-cli"}`, `"name":"web","namespace":"shop"`} {
				if len(events) != 1 || !strings.Contains(events[0], part) {
					t.Errorf("no %s in %q", part, events)
				}
			}
			if all := cluster.writes(); len(events) != 1 || all[len(all)-1] != events[0] {
				t.Errorf("the event is not the last thing that is written: %q", all)
			}
		})
	}
}
