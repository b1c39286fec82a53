package controller

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-delivery/sluice/internal/change"
)

// TestWaitsAreToldWhenTheyChange: every decision has its line in the log, and what is waited for has one until it is something else.
func TestWaitsAreToldWhenTheyChange(t *testing.T) {
	var out bytes.Buffer
	w := newWriter("rollout", Deps{Log: slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	}))})
	grow := change.Note{Topic: change.TopicGrow, Text: "scale web-2 from 0 to 1", Reason: "25 % of 4 is 1"}
	pods := change.Note{Topic: change.TopicWait, Text: "wait for pods", Reason: "1 of 1 is not available"}
	pause := change.Note{Topic: change.TopicWait, Text: "pause", Reason: "step 2 of 3"}
	web, api := types.NamespacedName{Namespace: "shop", Name: "web"}, types.NamespacedName{Namespace: "shop", Name: "api"}
	for _, pass := range []struct {
		object types.NamespacedName
		notes  []change.Note
		writes bool
		want   string
	}{
		{web, []change.Note{grow, pods}, true, "scale web-2 from 0 to 1; wait for pods"},
		{web, []change.Note{pods}, true, ""},                                          // the status is written, and the wait is the same
		{web, []change.Note{pods}, false, ""},                                         // nothing is done
		{web, []change.Note{grow, pods}, true, "scale web-2 from 0 to 1"},             // a decision that is taken again is told again
		{api, []change.Note{pods}, true, "wait for pods"},                             // of another one nothing is known
		{web, []change.Note{pods, pause}, true, "pause"},                              // one more
		{web, []change.Note{pause}, true, ""},                                         // one less
		{web, []change.Note{pods}, true, "wait for pods"},                             // and it comes back
		{web, nil, true, ""},                                                          // nothing is waited for any more
		{web, []change.Note{pods}, false, ""},                                         // nor told where nothing is done
		{web, []change.Note{pods}, true, "wait for pods"},                             // but with the next thing that is
		{api, []change.Note{{Topic: change.TopicUpdate, Text: "done"}}, true, "done"}, // the end
	} {
		out.Reset()
		w.logNotes(t.Context(), pass.object, pass.notes, pass.writes)
		var told []string
		for line := range strings.Lines(out.String()) {
			_, text, _ := strings.Cut(line, " msg=")
			text, _, _ = strings.Cut(text, " rollout="+pass.object.String())
			told = append(told, strings.Trim(text, `"`))
		}
		if diff := cmp.Diff(pass.want, strings.Join(told, "; ")); diff != "" {
			t.Errorf("after %+v (-want +told):\n%s", pass, diff)
		}
	}
	out.Reset()
	w.logNotes(t.Context(), web, []change.Note{{Topic: change.TopicWait, Text: "wait for room", Promise: change.Promise{Name: "capacity"}}}, true)
	if !strings.HasSuffix(out.String(), " promise=capacity\n") {
		t.Errorf("the log does not name the promise that has something wait: %s", out.String())
	}
	w.memory.forget(api)
	w.memory.forget(web)
	if len(w.memory.owners) > 0 {
		t.Errorf("what is gone is remembered: %v", w.memory.owners)
	}
}
