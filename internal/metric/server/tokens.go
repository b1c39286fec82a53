package server

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"sync"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// mostTokens is how many tokens are remembered.
const mostTokens = 1000

// tokens are those of OAuth2, until they expire. A token is found by all that was needed to get it, the secret among it.
type tokens struct {
	mu    sync.Mutex
	known map[[sha256.Size]byte]*oauth2.Token
}

func isEmpty(o v1alpha1.OAuth2Config) bool {
	return o.TokenURL == "" && o.ClientID == "" && o.ClientSecret == ""
}

func tokenKey(o v1alpha1.OAuth2Config, insecure bool) [sha256.Size]byte {
	return sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q %t", o.TokenURL, o.ClientID, o.ClientSecret, o.Scopes, insecure))
}

// source returns a token that is known, or asks for one. The request has the client's secret, so it goes to the server that is named and to no
// other one.
func (t *tokens) source(o v1alpha1.OAuth2Config, insecure bool, transport http.RoundTripper) func(context.Context) (*oauth2.Token, error) {
	config := clientcredentials.Config{ClientID: o.ClientID, ClientSecret: o.ClientSecret, TokenURL: o.TokenURL, Scopes: o.Scopes}
	client := &http.Client{Transport: transport, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		return fmt.Errorf("authentication.oauth2.tokenUrl redirects to %s://%s, and a secret is not sent on: write that server's URL", r.URL.Scheme, r.URL.Host)
	}}
	key := tokenKey(o, insecure)
	return func(ctx context.Context) (*oauth2.Token, error) {
		t.mu.Lock()
		token := t.known[key]
		t.mu.Unlock()
		if token.Valid() {
			return token, nil
		}
		token, err := config.Token(context.WithValue(ctx, oauth2.HTTPClient, client))
		if err != nil {
			return nil, err
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.known == nil || len(t.known) >= mostTokens {
			t.known = map[[sha256.Size]byte]*oauth2.Token{}
		}
		t.known[key] = token
		return token, nil
	}
}

// forget forgets a token that the server did not take.
func (t *tokens) forget(o v1alpha1.OAuth2Config, insecure bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.known, tokenKey(o, insecure))
}
