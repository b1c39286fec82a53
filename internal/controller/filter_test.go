package controller

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/go-logr/logr"
)

// A token of which nobody can say whose it is gets 401, and every other answer is what it was.
func TestATokenThatNobodyKnows(t *testing.T) {
	for name, c := range map[string]struct {
		// filter is what the filter answers, 0 for nothing, and handler what the metrics answer behind it.
		filter, handler int
		text            string
		want            int
	}{
		"a token that nobody knows":   {filter: 500, text: authenticationFailed, want: 401},
		"no token":                    {filter: 401, text: "Unauthorized", want: 401},
		"an authorization that fails": {filter: 500, text: "Authorization for user x failed", want: 500},
		"a user without the right":    {filter: 403, text: "Authorization denied for user x", want: 403},
		"who may":                     {handler: 200, text: "metrics", want: 200},
		"metrics that fail":           {handler: 500, text: authenticationFailed, want: 500},
	} {
		t.Run(name, func(t *testing.T) {
			filter := unauthorizing(func(_ logr.Logger, next http.Handler) (http.Handler, error) {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if c.filter == 0 {
						next.ServeHTTP(w, r)
						return
					}
					http.Error(w, c.text, c.filter)
				}), nil
			})
			handler, err := filter(logr.Discard(), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, c.text, c.handler) }))
			if err != nil {
				t.Fatal(err)
			}
			answer := httptest.NewRecorder()
			handler.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody))
			if answer.Code != c.want || answer.Body.String() != c.text+"\n" {
				t.Errorf("%d %q, not %d %q", answer.Code, answer.Body, c.want, c.text)
			}
		})
	}
}
