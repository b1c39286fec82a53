package e2e

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/mail"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/emersion/go-smtp"

	"github.com/sluice-delivery/sluice/internal/playtest"
)

// received are messages that a server took, one line each.
type received struct {
	mu    sync.Mutex
	lines []string
	news  chan struct{}
}

func newReceived() *received { return &received{news: make(chan struct{}, 1000)} }

func (r *received) add(line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, line)
	select {
	case r.news <- struct{}{}:
	default:
	}
}

// containing are the messages that contain a text.
func (r *received) containing(text string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []string
	for _, line := range r.lines {
		if strings.Contains(line, text) {
			all = append(all, line)
		}
	}
	return all
}

// wait waits for a message that contains a text.
func (r *received) wait(t *testing.T, text string) string {
	t.Helper()
	ctx, cancel := contextWithPatience(t)
	defer cancel()
	for {
		if all := r.containing(text); len(all) > 0 {
			return all[0]
		}
		select {
		case <-r.news:
		case <-ctx.Done():
			r.mu.Lock()
			defer r.mu.Unlock()
			t.Fatalf("no message contains %q. There are:\n%s", text, strings.Join(r.lines, "\n"))
		}
	}
}

// webhook is an HTTPS server. Messages are "METHOD PATH BODY"; answer may refuse one before it counts.
func webhook(t *testing.T, answer func(http.ResponseWriter, *http.Request) bool) (*received, *httptest.Server) {
	t.Helper()
	got := newReceived()
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if answer == nil || answer(w, r) {
			got.add(r.Method + " " + r.URL.Path + " " + string(body))
		}
	}))
	t.Cleanup(s.Close)
	return got, s
}

// certificate is a file with the certificate of a test server, for the process that must trust it.
func certificate(t *testing.T, s *httptest.Server) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "server.crt")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// slack answers like Slack's API. Messages are "CHANNEL TEXT ATTACHMENTS".
func slack(t *testing.T, token string) (*received, string) {
	t.Helper()
	got, s := newReceived(), http.NewServeMux()
	s.HandleFunc("/api/chat.postMessage", func(w http.ResponseWriter, r *http.Request) {
		answer := map[string]any{"ok": true, "channel": "C1", "ts": "1.2"}
		if given := r.Header.Get("Authorization"); given != "Bearer "+token && r.FormValue("token") != token {
			answer = map[string]any{"ok": false, "error": "invalid_auth"}
		} else {
			got.add(r.FormValue("channel") + " " + r.FormValue("text") + " " + r.FormValue("attachments"))
		}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	})
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return got, server.URL + "/api/"
}

// mailbox is an SMTP server. Messages are "TO SUBJECT BODY".
func mailbox(t *testing.T) (*received, string) {
	t.Helper()
	got := newReceived()
	s := smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return &session{got: got}, nil }))
	s.TLSConfig = (*tls.Config)(nil)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return got, port
}

type session struct {
	got *received
	to  []string
}

func (*session) Mail(string, *smtp.MailOptions) error { return nil }
func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.to = append(s.to, to)
	return nil
}

func (s *session) Data(r io.Reader) error {
	m, err := mail.ReadMessage(r)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(m.Body)
	s.got.add(strings.Join(s.to, ",") + " " + m.Header.Get("Subject") + " " + string(body))
	return err
}
func (s *session) Reset()      { s.to = nil }
func (*session) Logout() error { return nil }

// notifier is a running sluice-notifier with the rights of config/notifications.
type notifier struct{ *process }

func startNotifier(t *testing.T, ns *playtest.Namespace, env []string, flags ...string) *notifier {
	t.Helper()
	ns.Apply(filepath.Join(playtest.Root(), "config/notifications/rbac.yaml"))
	kubeconfig := ns.KubeconfigOf("argo-rollouts/sluice-notifier")
	args := append([]string{
		"run", "--kubeconfig", kubeconfig, "--metrics-port=0", "--healthz-port=0", "--loglevel=debug", "--allow-cidrs=127.0.0.0/8",
		"--leader-election-lease-duration=2s",
	}, flags...)
	return &notifier{start(t, playtest.Program("sluice-notifier"), args, append(env, "POD_NAMESPACE=argo-rollouts"))}
}
