package controller

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/analysis/measure"
	"github.com/sluice-delivery/sluice/internal/metric"
	"github.com/sluice-delivery/sluice/internal/metric/registry"
	"github.com/sluice-delivery/sluice/internal/metric/server"
)

// TestCredentialsOfProvidersAreHidden, and are those of the namespace that the metric means, even where the server repeats them.
func TestCredentialsOfProvidersAreHidden(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "no such key: "+r.Header.Get("Dd-Api-Key"), http.StatusForbidden)
	}))
	t.Cleanup(s.Close)
	secret := func(namespace, key string) *corev1.Secret {
		return &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "keys"},
			Data:       map[string][]byte{"address": []byte(s.URL), "api-key": []byte(key), "app-key": []byte("app-" + key)},
		}
	}
	live := fake.NewClientBuilder().WithObjects(secret("sluice", "of-the-controller"), secret("shop", "of-the-shop")).Build()
	var log strings.Builder
	runs := NewAnalysisRunReconciler(t.Context(), Deps{
		Clock: clock.RealClock{}, Client: live, Live: live, OwnNamespace: "sluice", Events: &record.FakeRecorder{}, Log: slog.New(slog.NewTextHandler(&log, nil)),
	}, registry.New(registry.Options{
		Clock: clock.RealClock{}, Network: server.NewNetwork(server.Reach{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}),
	}))
	for name, c := range map[string]struct {
		ref    v1alpha1.SecretRef
		hidden string
		want   string
	}{
		"the controller's": {v1alpha1.SecretRef{Name: "keys"}, "of-the-controller", `no such key: *****`},
		"the run's":        {v1alpha1.SecretRef{Name: "keys", Namespaced: true}, "of-the-shop", `no such key: *****`},
		"there is none":    {v1alpha1.SecretRef{Name: "other"}, "of-the", `Secret "other" not found: create it in the namespace of the controller`},
	} {
		task := measure.Task{Request: metric.Request{Run: metric.Run{Namespace: "shop", Name: "run", UID: "run"}, Metric: v1alpha1.Metric{
			Name: "a", Provider: v1alpha1.MetricProvider{Datadog: &v1alpha1.DatadogMetric{Query: "avg:x{*}", SecretRef: c.ref}},
		}}}
		held := runs.flights.bytes.claim("shop")
		result := runs.flights.fly(t.Context(), task, held)
		held.release()
		shown := result.Secrets.Hide(result.Err)
		if !strings.Contains(shown, c.want) || strings.Contains(shown+log.String(), c.hidden) {
			t.Errorf("%s: %s\nwant %s, and never %s", name, shown, c.want, c.hidden)
		}
		if c.ref.Name == "keys" && !strings.Contains(result.Err, c.hidden) {
			t.Errorf("%s: the credentials were %s, want %s", name, result.Err, c.hidden)
		}
	}
}
