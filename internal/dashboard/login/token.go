package login

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/sluice-delivery/sluice/internal/cli/live"
	"github.com/sluice-delivery/sluice/internal/dashboard"
)

// Tokens is the door for requests that carry a token which the API server accepts: those of a proxy that logs people in, and of scripts.
type Tokens struct {
	base  *rest.Config
	clock clock.Clock

	mu sync.Mutex
	// known are persons by the hash of their token, for a short time.
	known map[string]bearer
}

type bearer struct {
	dashboard.Person
	at time.Time
}

const (
	// tokenAge is how long the API server is not asked again whether a token is good: one that is revoked ends after this time.
	tokenAge   = 30 * time.Second
	tokensKept = 1000
	askTimeout = 10 * time.Second
)

// NewTokens is a door in front of the cluster that base reaches. Its own credentials are not used.
func NewTokens(base *rest.Config, c clock.Clock) *Tokens {
	return &Tokens{base: base, clock: c, known: map[string]bearer{}}
}

// Login reports that there is no page for it.
func (t *Tokens) Login() bool { return false }

// Handle adds nothing.
func (t *Tokens) Handle(func(string, http.HandlerFunc), func(http.ResponseWriter, *http.Request, int, string)) {
}

// Leave forgets nothing: what sends the token decides.
func (t *Tokens) Leave(http.ResponseWriter, *http.Request) {}

// Enter asks the API server whose token a request has.
func (t *Tokens) Enter(_ http.ResponseWriter, r *http.Request) (dashboard.Person, error) {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok || token == "" {
		return dashboard.Person{}, dashboard.ErrUnknown
	}
	sum := sha256.Sum256([]byte(token))
	key := "token " + base64.RawURLEncoding.EncodeToString(sum[:])
	now := t.clock.Now()
	t.mu.Lock()
	known, ok := t.known[key]
	t.mu.Unlock()
	if ok && now.Sub(known.at) < tokenAge {
		return known.Person, nil
	}
	client, err := bearing(t.base, token)
	if err != nil {
		return dashboard.Person{}, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), askTimeout)
	defer cancel()
	p := dashboard.Person{Key: key, Client: client, Script: true, Until: now.Add(tokenAge)}
	if p.Name, err = whoami(ctx, client.Interface); err != nil {
		return dashboard.Person{}, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.known) >= tokensKept {
		clear(t.known) // they are asked for again
	}
	t.known[key] = bearer{p, now}
	return p, nil
}

// whoami is what the API server calls the one who asks.
func whoami(ctx context.Context, c dynamic.Interface) (string, error) {
	name, err := live.Client{Interface: c}.Whoami(ctx)
	if apierrors.IsUnauthorized(err) || err == nil && name == "" {
		return "", dashboard.ErrUnknown
	}
	return name, err
}
