//go:build linux

package main

import (
	"context"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/hack/traffic/load"
)

// played is a demo of a second or two against a server that plays all versions.
func played(t *testing.T) *demo {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Version", showBad)
		w.WriteHeader(http.StatusInternalServerError)
	}))
	t.Cleanup(server.Close)
	ctx, cancel := context.WithTimeout(t.Context(), 1200*time.Millisecond)
	defer cancel()
	d := &demo{ledger: load.NewLedger(), began: time.Now()}
	load.Run(ctx, load.Options{URL: server.URL, Rate: 50}, d.ledger)
	d.happened("<set image & go>")
	d.ended = time.Now()
	return d
}

// The report is one page that is well formed, with the chart in it, whatever was measured.
func TestReport(t *testing.T) {
	d := played(t)
	for name, text := range map[string]string{"a run": d.chart(), "nothing": (&demo{ledger: load.NewLedger(), began: time.Now(), ended: time.Now()}).chart()} {
		decoder := xml.NewDecoder(strings.NewReader(text))
		for {
			if _, err := decoder.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v\n%s", name, err, text)
			}
		}
	}
	file := filepath.Join(t.TempDir(), "traffic.html")
	if err := d.write(file); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<svg", showBad, "&lt;set image &amp; go&gt;"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the report lacks %s", want)
		}
	}
	if f := d.ledger.Failures(showBad); f.Count == 0 || d.faults() != nil {
		t.Errorf("%d failures, %v: want some, and no fault of the demo", f.Count, d.faults())
	}
}

// However little there is, something is to be seen of it; more than the most is as high as the most.
func TestBar(t *testing.T) {
	var got []rune
	for _, n := range []int{0, 1, 50, 100, 900} {
		got = append(got, bar(n, 100))
	}
	if want := " ▁▄██"; string(got) != want {
		t.Errorf("%q, want %q", string(got), want)
	}
}

// Prometheus scrapes pods at their loopback addresses; those without an address are left out.
func TestGroups(t *testing.T) {
	pod := func(name, ip string) corev1.Pod {
		return corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1alpha1.PodTemplateHashLabel: "abc"}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Ports: []corev1.ContainerPort{{ContainerPort: 8080}}}}},
			Status:     corev1.PodStatus{PodIP: ip},
		}
	}
	want := []group{{Targets: []string{"127.1.2.3:8080"}, Labels: map[string]string{"pod": "web-1", "hash": "abc"}}}
	if diff := cmp.Diff(want, groups([]corev1.Pod{pod("web-1", "10.1.2.3"), pod("web-2", "")})); diff != "" {
		t.Errorf("groups (-want +got)\n%s", diff)
	}
}
