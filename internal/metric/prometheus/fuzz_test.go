package prometheus

import (
	"context"
	"net/http"
	"net/url"
	"testing"
	"time"

	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"
)

// canned is a server that answers everything with the same body.
type canned string

func (canned) URL(string, map[string]string) *url.URL {
	return &url.URL{Scheme: "http", Host: "prometheus"}
}

func (c canned) Do(context.Context, *http.Request) (*http.Response, []byte, error) {
	return &http.Response{StatusCode: http.StatusOK}, []byte(c), nil
}

// Whatever a server answers is numbers, or an error.
func FuzzAnswer(f *testing.F) {
	for _, result := range []string{
		`{"resultType": "vector", "result": [{"metric": {"a": "b"}, "value": [1, "0.25"]}]}`, `{"resultType": "scalar", "result": [1, "NaN"]}`,
		`{"resultType": "matrix", "result": [{"metric": {}, "values": [[1, "+Inf"], [2, "-0"]]}]}`, `{"resultType": "string", "result": [1, "x"]}`,
		`{"resultType": "vector", "result": null}`, `{}`,
	} {
		f.Add(`{"status": "success", "data": ` + result + `}`)
	}
	f.Add(`{"status": "error", "errorType": "bad_data", "error": "x"}`)
	f.Fuzz(func(t *testing.T, body string) {
		value, _, err := promv1.NewAPI(canned(body)).Query(t.Context(), "x", time.Time{})
		if explained := explain(err, time.Second); (explained == nil) != (err == nil) {
			t.Errorf("the error %v is shown as %v", err, explained)
		}
		if err != nil {
			return
		}
		number, text, err := numbers(value)
		if err == nil && (number == nil || text == "") {
			t.Errorf("no number and no error: %v %q", number, text)
		}
	})
}
