package server

import (
	"testing"
	"time"
)

// Whatever a server says about when to come back, it is not in the past.
func FuzzRetryAfter(f *testing.F) {
	f.Add("120")
	f.Add("-1")
	f.Add("Mon, 23 Nov 2026 10:00:00 GMT")
	f.Fuzz(func(t *testing.T, text string) {
		if wait := retryAfter(text, time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)); wait < 0 {
			t.Errorf("%q: %s", text, wait)
		}
	})
}

// Whatever a server answers in GraphQL is data or an error.
func FuzzData(f *testing.F) {
	f.Add(`{"data": {"a": 1}}`)
	f.Add(`{"errors": [{"message": "x"}]}`)
	f.Add(`{"data": null, "errors": null}`)
	f.Fuzz(func(t *testing.T, body string) {
		if data, err := Data(Answer{Status: 200, Body: []byte(body)}); err != nil && data != nil {
			t.Errorf("%s, and the error %v", data, err)
		}
	})
}
