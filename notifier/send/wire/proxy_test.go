package wire

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/md5"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// internet is a proxy that answers for all servers, and keeps what they were asked.
type internet struct {
	authority tls.Certificate
	mu        sync.Mutex
	asked     []string
}

var world = &internet{}

// TestMain has the environment name the proxy, and the authority of its certificates, before anything reads that.
func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "wire")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir) //nolint:errcheck // a temporary folder
		world.authority = certificate("authority", nil)
		file := filepath.Join(dir, "ca.crt")
		if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: world.authority.Certificate[0]}), 0o600); err != nil {
			panic(err)
		}
		proxy := httptest.NewServer(http.HandlerFunc(world.carry))
		defer proxy.Close()
		for name, value := range map[string]string{"HTTP_PROXY": proxy.URL, "HTTPS_PROXY": proxy.URL, "NO_PROXY": "", "SSL_CERT_FILE": file} {
			if err := os.Setenv(name, value); err != nil {
				panic(err)
			}
		}
		return m.Run()
	}())
}

// certificate is one for a host, signed by another, or by itself.
func certificate(host string, by *tls.Certificate) tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: host}, DNSNames: []string{host}, IsCA: by == nil, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	parent, signer := template, any(key)
	if by != nil {
		if parent, err = x509.ParseCertificate(by.Certificate[0]); err != nil {
			panic(err)
		}
		signer = by.PrivateKey
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		panic(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// carry answers a request, or those of a connection.
func (i *internet) carry(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodConnect {
		i.answer(w, r, r.URL.String())
		return
	}
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	plain, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	defer plain.Close() //nolint:errcheck // the test's own
	_, _ = io.WriteString(plain, "HTTP/1.1 200 OK\r\n\r\n")
	secure := tls.Server(plain, &tls.Config{Certificates: []tls.Certificate{certificate(host, &i.authority)}})
	for in := bufio.NewReader(secure); ; {
		request, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		out := httptest.NewRecorder()
		i.answer(out, request, "https://"+request.Host+request.URL.String())
		if out.Result().Write(secure) != nil { //nolint:bodyclose // it is the test's own
			return
		}
	}
}

// kept are the headers that matter.
var kept = []string{"Authorization", "X-Api-Key", "Api-Key", "Content-Type", "X-Key", "X-Amz-Target", "X-Auth-Token"}

func (i *internet) answer(w http.ResponseWriter, r *http.Request, address string) {
	address = strings.NewReplacer(":443/", "/", ":80/", "/").Replace(address)
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(err)
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s %s\n", r.Method, address)
	for _, name := range kept {
		if value := r.Header.Get(name); value != "" {
			fmt.Fprintf(&text, "%s: %s\n", name, stable(value))
		}
	}
	text.WriteString(stableBody(body))
	i.mu.Lock()
	i.asked = append(i.asked, text.String())
	i.mu.Unlock()
	for part, answer := range answers {
		if strings.Contains(address, part) {
			text := answer.of(body)
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", strconv.Itoa(len(text)))
			for _, name := range []string{"Limit", "Remaining", "Reset"} { // Pushover's client insists on them
				w.Header().Set("X-Limit-App-"+name, "7500")
			}
			w.WriteHeader(answer.code)
			_, _ = io.WriteString(w, text)
			return
		}
	}
	w.Header().Set("Content-Length", "0")
	w.WriteHeader(http.StatusNotFound)
}

// stable leaves out of a header what is another one each time.
func stable(value string) string {
	if strings.HasPrefix(value, "AWS4-HMAC-SHA256") {
		return "AWS4-HMAC-SHA256 …"
	}
	if token, ok := strings.CutPrefix(value, "Bearer eyJ"); ok {
		return fmt.Sprintf("Bearer (a signed token of %d parts)", 1+strings.Count(token, "."))
	}
	return value
}

// stableBody is a body with JSON set out, and without times.
func stableBody(body []byte) string {
	var v any
	if json.Unmarshal(body, &v) != nil {
		if len(body) == 0 {
			return ""
		}
		return string(body) + "\n"
	}
	objects, _ := v.([]any)
	for _, o := range append(objects, v) {
		if m, ok := o.(map[string]any); ok {
			for _, key := range []string{"time", "startsAt"} {
				if m[key] != nil {
					m[key] = "(now)"
				}
			}
		}
	}
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		panic(err)
	}
	return string(text) + "\n"
}

type answer struct {
	code int
	text string
}

func (a answer) of(body []byte) string {
	var sqs struct{ MessageBody string }
	_ = json.Unmarshal(body, &sqs)
	return strings.ReplaceAll(a.text, "MD5", fmt.Sprintf("%x", md5.Sum([]byte(sqs.MessageBody)))) //nolint:gosec // what the API has
}

// answers are what servers say, by a part of the address.
var answers = map[string]answer{
	"slack.com/api/chat.postMessage":             {200, `{"ok":true,"channel":"C1","ts":"1.2"}`},
	"hooks.example.com":                          {200, ``},
	"outlook.office.com":                         {200, `1`},
	"api.powerautomate.com":                      {202, ``},
	"chat.googleapis.com":                        {200, `{"name":"spaces/x/messages/y"}`},
	"api.opsgenie.com":                           {202, `{"result":"Request will be processed","took":0.1,"requestId":"r"}`},
	"api.pagerduty.com":                          {201, `{"incident":{"id":"P1"}}`},
	"events.pagerduty.com":                       {202, `{"status":"success","message":"Event processed","dedup_key":"k"}`},
	"grafana.example.com":                        {200, `{"message":"Annotation added"}`},
	"alerts.example.com":                         {200, ``},
	"mattermost.example.com":                     {201, `{"id":"p"}`},
	"rocket.example.com/api/v1/login":            {200, `{"status":"success","data":{"authToken":"t","userId":"u"}}`},
	"rocket.example.com/api/v1/chat.postMessage": {200, `{"success":true,"status":"OK"}`},
	"api.telegram.org/bottoken/getMe":            {200, `{"ok":true,"result":{"id":1,"is_bot":true,"first_name":"b","username":"b"}}`},
	"api.telegram.org/bottoken/sendMessage":      {200, `{"ok":true,"result":{"message_id":1,"date":1,"chat":{"id":1,"type":"channel"}}}`},
	"api.pushover.net":                           {200, `{"status":1,"request":"r"}`},
	"newrelic.example.com":                       {201, `{}`},
	"webex.example.com":                          {200, `{}`},
	"github.example.com/app/installations/2":     {201, `{"token":"installation","expires_at":"2099-01-01T00:00:00Z"}`},
	"github.example.com/api/v3/repos/shop/web/":  {201, `{}`},
	"sqs.example.com":                            {200, `{"QueueUrl":"http://sqs.example.com/1/deploys","MessageId":"1","MD5OfMessageBody":"MD5"}`},
}
