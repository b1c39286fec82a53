package login

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// provider is an OpenID Connect provider that logs in the user the test names.
type provider struct {
	t      *testing.T
	server *httptest.Server
	key    *rsa.PrivateKey

	mu sync.Mutex
	// claims are those of who is logged in.
	claims map[string]any
	// codes are logins that have been granted, with what the dashboard asked for.
	codes map[string]url.Values
	// refresh is the refresh token that is good; each is good once.
	refresh   string
	refreshed int
	lifetime  time.Duration
	// nonce replaces the one that was asked for.
	nonce string
	// down: it answers with errors.
	down bool
}

func newProvider(t *testing.T) *provider {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	p := &provider{t: t, key: key, codes: map[string]url.Values{}, lifetime: time.Hour}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		at := p.server.URL
		p.answer(w, map[string]any{
			"issuer": at, "authorization_endpoint": at + "/authorize", "token_endpoint": at + "/token", "jwks_uri": at + "/keys",
			"id_token_signing_alg_values_supported": []string{"RS256"},
		})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		p.answer(w, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "k", Algorithm: "RS256", Use: "sig"}}})
	})
	mux.HandleFunc("GET /authorize", p.authorize)
	mux.HandleFunc("POST /token", p.token)
	p.server = httptest.NewTLSServer(mux)
	t.Cleanup(p.server.Close)
	return p
}

// is says who is logged in at the provider.
func (p *provider) is(email string, groups ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.claims = map[string]any{"sub": "id of " + email, "email": email, "email_verified": true, "groups": groups}
}

func (p *provider) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

func (p *provider) answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // a client that is gone needs nothing
}

func (p *provider) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if q.Get("code_challenge_method") != "S256" || q.Get("code_challenge") == "" || q.Get("client_id") != "dashboard" || q.Get("nonce") == "" {
		http.Error(w, "no PKCE, or another client", http.StatusBadRequest)
		return
	}
	code := random()
	p.set(func() { p.codes[code] = q })
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+url.Values{"code": {code}, "state": {q.Get("state")}}.Encode(), http.StatusFound)
}

func (p *provider) token(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	refuse := func(why string) {
		w.WriteHeader(http.StatusBadRequest)
		p.answer(w, map[string]any{"error": "invalid_grant", "error_description": why})
	}
	_, secret, _ := r.BasicAuth()
	nonce := ""
	switch {
	case p.down:
		w.WriteHeader(http.StatusInternalServerError)
		return
	case secret != "secret":
		refuse("another secret")
		return
	case r.PostFormValue("grant_type") == "refresh_token":
		if r.PostFormValue("refresh_token") != p.refresh || p.refresh == "" {
			p.refresh = "" // it was used twice: it was stolen
			refuse("used before")
			return
		}
		p.refreshed++
	default:
		asked, ok := p.codes[r.PostFormValue("code")]
		delete(p.codes, r.PostFormValue("code"))
		sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
		if !ok || asked.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(sum[:]) {
			refuse("no such code")
			return
		}
		nonce = asked.Get("nonce")
		if p.nonce != "" {
			nonce = p.nonce
		}
	}
	p.refresh = random()
	claims := map[string]any{"iss": p.server.URL, "aud": "dashboard", "iat": time.Now().Unix(), "exp": time.Now().Add(p.lifetime).Unix()}
	for name, value := range p.claims {
		claims[name] = value
	}
	if nonce != "" {
		claims["nonce"] = nonce
	}
	p.answer(w, map[string]any{"access_token": "a", "token_type": "Bearer", "refresh_token": p.refresh, "expires_in": int(p.lifetime.Seconds()), "id_token": p.signed(claims)})
}

func (p *provider) signed(claims map[string]any) string {
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: p.key, KeyID: "k"}}, nil)
	if err != nil {
		p.t.Error(err)
		return ""
	}
	text, _ := json.Marshal(claims) // texts and numbers
	sealed, err := signer.Sign(text)
	if err != nil {
		p.t.Error(err)
		return ""
	}
	compact, _ := sealed.CompactSerialize() // it has one signature
	return compact
}
