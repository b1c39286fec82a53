// Package google is the controller's identity at Google Cloud: tokens of its application default credentials, such as those of workload
// identity.
package google

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"
)

const (
	// host is the only one that is told a token: who has it may do as the controller may.
	host = "monitoring.googleapis.com"
	// readScope is asked for where a metric names no scopes.
	readScope = "https://www.googleapis.com/auth/monitoring.read"
	// mostSources is how many token sources are remembered.
	mostSources = 100
	// longest is how long it may take to ask for a token.
	longest = 30 * time.Second
)

// Account remembers tokens until they expire.
type Account struct {
	// Find finds the credentials; nil for the application default credentials.
	Find func(ctx context.Context, scopes ...string) (oauth2.TokenSource, error)

	mu    sync.Mutex
	known map[string]oauth2.TokenSource
}

// Prove adds a token to a request.
func (a *Account) Prove(r *http.Request, scopes []string) error {
	if r.URL.Scheme != "https" || r.URL.Host != host {
		return fmt.Errorf("authentication.google is for https://%s only, and the address is %s", host, (&url.URL{Scheme: r.URL.Scheme, Host: r.URL.Host}).String())
	}
	if len(scopes) == 0 {
		scopes = []string{readScope}
	}
	source, err := a.source(r.Context(), scopes)
	if err != nil {
		return fmt.Errorf("credentials of Google Cloud: %w", err)
	}
	token, err := source.Token()
	if err != nil {
		return fmt.Errorf("token of Google Cloud: %w", err)
	}
	token.SetAuthHeader(r)
	return nil
}

func (a *Account) source(ctx context.Context, scopes []string) (oauth2.TokenSource, error) {
	key := strings.Join(slices.Sorted(slices.Values(scopes)), " ")
	a.mu.Lock()
	defer a.mu.Unlock()
	if source, ok := a.known[key]; ok {
		return source, nil
	}
	find := a.Find
	if find == nil {
		find = byDefault
	}
	// The source is used by later measurements too, so it does not end with this one.
	source, err := find(context.WithValue(context.WithoutCancel(ctx), oauth2.HTTPClient, &http.Client{Timeout: longest}), scopes...)
	if err != nil {
		return nil, err
	}
	if a.known == nil || len(a.known) >= mostSources {
		a.known = map[string]oauth2.TokenSource{}
	}
	a.known[key] = source
	return source, nil
}

func byDefault(ctx context.Context, scopes ...string) (oauth2.TokenSource, error) {
	credentials, err := google.FindDefaultCredentials(ctx, scopes...)
	if err != nil {
		return nil, err
	}
	return credentials.TokenSource, nil
}
