package dashboard

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// streamed reads messages of a stream.
type streamed struct {
	t     *testing.T
	lines *bufio.Scanner
}

func (d *desk) stream(path string) *streamed {
	d.t.Helper()
	server := httptest.NewServer(d.handler)
	d.t.Cleanup(server.Close)
	ctx, cancel := context.WithTimeout(d.t.Context(), patience)
	d.t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+path, nil)
	if err != nil {
		d.t.Fatal(err)
	}
	r.Host = host
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set("Authorization", "Bearer script")
	w, err := http.DefaultClient.Do(r)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { _ = w.Body.Close() })
	if got := w.Header.Get("Content-Type"); w.StatusCode != http.StatusOK || got != "text/event-stream" {
		text, _ := io.ReadAll(w.Body)
		d.t.Fatalf("%d %s %s", w.StatusCode, got, text)
	}
	s := &streamed{t: d.t, lines: bufio.NewScanner(w.Body)}
	s.lines.Buffer(nil, 1<<20)
	return s
}

// until reads to the first message about an element that has a text.
func (s *streamed) until(id, text string) message {
	s.t.Helper()
	for s.lines.Scan() {
		data, ok := strings.CutPrefix(s.lines.Text(), "data: ")
		var m message
		if ok && json.Unmarshal([]byte(data), &m) == nil && m.ID == id && strings.Contains(m.HTML, text) {
			return m
		}
	}
	s.t.Fatalf("the stream ended before %s had %q: %v", id, text, s.lines.Err())
	return message{}
}

func TestChangesAreStreamed(t *testing.T) {
	d := newDesk(t, nil, paused)
	list, page := d.stream("/rollouts/"), d.stream("/rollouts/rollout/shop/web")
	list.until("f-rows", "Paused")
	page.until("f-head", "Paused")
	d.edit(func(u *unstructured.Unstructured) {
		_ = unstructured.SetNestedField(u.Object, "Degraded", "status", "phase")
	})
	if m := list.until("row-shop-web", "Degraded"); !m.Outer {
		t.Errorf("a row that changes is sent as %+v", m)
	}
	page.until("f-head", "Degraded")
}

// A viewer that does not read holds nobody up, and costs one wake-up, however much happens.
func TestASlowViewerSlowsNobody(t *testing.T) {
	d := newDesk(t, nil, paused)
	slow, leave := d.server.hub.join(func(types.NamespacedName) bool { return true })
	defer leave()
	quick := d.stream("/rollouts/")
	quick.until("f-rows", "Paused")
	for i := range 20 {
		d.edit(func(u *unstructured.Unstructured) {
			_ = unstructured.SetNestedField(u.Object, fmt.Sprintf("change %d", i), "status", "message")
		})
	}
	quick.until("row-shop-web", "change 19")
	if n := len(slow.ready); n != 1 {
		t.Errorf("%d wake-ups wait for the slow viewer", n)
	}
}

func TestOpenPagesAreLimited(t *testing.T) {
	d := newDesk(t, nil, paused).enter()
	for range streamsAtOnce {
		d.server.guard.streams <- struct{}{}
	}
	w := d.send("GET", "/rollouts/", "", func(r *http.Request) { r.Header.Set("Accept", "text/event-stream") })
	if w.Code != http.StatusServiceUnavailable {
		t.Errorf("status %d", w.Code)
	}
}
