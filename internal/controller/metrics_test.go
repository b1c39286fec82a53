package controller_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/sluice-delivery/sluice/internal/playtest"
)

// With --metrics-secure, and the rights that come with it, metrics are for those alone who show a token (401 without one, or with a forged one)
// and may get /metrics (403 otherwise), and nobody reads them in plain text.
func TestMetricsForSomeAlone(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	ns.Apply(filepath.Join(playtest.Root(), "config/secure-metrics/rbac.yaml"))
	nobody, reader := token(t, ns, "nobody"), token(t, ns, "prometheus")
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "metrics-" + ns.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "argo-rollouts-metrics-reader"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: ns.Name, Name: "prometheus"}},
	}
	if err := ns.Client.Create(t.Context(), binding); err != nil {
		t.Fatal(err)
	}
	port, certificates := ns.FreePort(), certificate(t)
	ns.StartController("--metrics-port", fmt.Sprint(port), "--metrics-secure", "--metrics-cert-dir", certificates)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	ask := func(scheme, token string) (int, string, error) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("%s://127.0.0.1:%d/metrics", scheme, port), nil)
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			request.Header.Set("Authorization", "Bearer "+token)
		}
		response, err := client.Do(request)
		if err != nil {
			return 0, "", err
		}
		defer response.Body.Close() //nolint:errcheck // it was only read
		body, err := io.ReadAll(response.Body)
		return response.StatusCode, string(body), err
	}
	for who, c := range map[string]struct {
		token string
		want  int
	}{"nobody in particular": {"", 401}, "a forged token": {reader + "x", 401}, "a user without the right": {nobody, 403}, "a user with the right": {reader, 200}} {
		ns.WaitUntil(fmt.Sprintf("%s to get %d", who, c.want), func() error { // the server starts, and rights take effect in time
			status, body, err := ask("https", c.token)
			switch {
			case err != nil:
				return err
			case status != c.want:
				return fmt.Errorf("%d: %.200s", status, body)
			case strings.Contains(body, "argo_rollouts_controller_info{") != (c.want == 200):
				return fmt.Errorf("%d with the body %.200s", status, body)
			}
			return nil
		})
	}
	if status, body, err := ask("http", reader); err == nil && status == http.StatusOK {
		t.Errorf("served in plain text: %.200s", body)
	}
}

// token is that of a service account without any rights.
func token(t *testing.T, ns *playtest.Namespace, account string) string {
	t.Helper()
	ns.As(account)
	config, err := clientcmd.BuildConfigFromFlags("", ns.KubeconfigOf(account))
	if err != nil || config.BearerToken == "" {
		t.Fatalf("%s has no token (%v)", account, err)
	}
	return config.BearerToken
}

// certificate writes one, with its key, as a Secret of TLS is mounted.
func certificate(t *testing.T) string {
	t.Helper()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	server.Close()
	pair := server.TLS.Certificates[0]
	folder := t.TempDir()
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{"tls.crt": {Type: "CERTIFICATE", Bytes: pair.Certificate[0]}, "tls.key": {Type: "PRIVATE KEY", Bytes: key}} {
		if err := os.WriteFile(filepath.Join(folder, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}
