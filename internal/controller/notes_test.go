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
		// unfinished: the pass is repeated.
		unfinished bool
	}{
		{web, []change.Note{grow, pods}, true, "scale web-2 from 0 to 1; wait for pods", false},
		{web, []change.Note{grow, pods}, true, "scale web-2 from 0 to 1", true},              // this pass cannot be finished,
		{web, []change.Note{grow, pods}, true, "", true},                                     // nor when it is repeated,
		{web, []change.Note{grow, pods, pause}, true, "pause", false},                        // but now
		{web, []change.Note{pods}, true, "", false},                                          // the status is written, and the wait is the same
		{web, []change.Note{pods}, false, "", false},                                         // nothing is done
		{web, []change.Note{grow, pods}, true, "scale web-2 from 0 to 1", false},             // a decision that is taken again is told again
		{api, []change.Note{pods}, true, "wait for pods", false},                             // of another one nothing is known
		{web, []change.Note{pods, pause}, true, "pause", false},                              // one more
		{web, []change.Note{pause}, true, "", false},                                         // one less
		{web, []change.Note{pods}, true, "wait for pods", false},                             // and it comes back
		{web, nil, true, "", false},                                                          // nothing is waited for any more
		{web, []change.Note{pods}, false, "", false},                                         // nor told where nothing is done
		{web, []change.Note{pods}, true, "wait for pods", false},                             // but with the next thing that is
		{api, []change.Note{{Topic: change.TopicUpdate, Text: "done"}}, true, "done", false}, // the end
	} {
		out.Reset()
		w.logNotes(t.Context(), pass.object, pass.notes, pass.writes)
		if !pass.unfinished {
			w.memory.finished(pass.object)
		}
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
