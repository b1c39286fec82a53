package login

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/sluice-delivery/sluice/internal/dashboard"
)

// Options are how people log in by OpenID Connect.
type Options struct {
	Issuer, ClientID, ClientSecret string
	Scopes                         []string
	Mapping
	// URL is where people reach the dashboard, with its path and without a slash at the end.
	URL *url.URL
	// Key encrypts cookies. Nil: one that lasts as long as this process.
	Key []byte
	// MaxAge is how long a login lasts, however often it is renewed.
	MaxAge time.Duration
	// HTTP reaches the provider.
	HTTP  *http.Client
	Clock clock.Clock
	// Base reaches the cluster with the right to impersonate.
	Base *rest.Config
}

// OIDC is the door for people whom a provider knows.
type OIDC struct {
	Options
	oauth    oauth2.Config
	verifier *oidc.IDTokenVerifier
	sealer   sealer

	mu sync.Mutex
	// renewals are sessions that have been renewed a short time ago, or are being renewed, by the cookie that they replace: a browser sends
	// several requests with the old one, and a provider accepts a refresh token once.
	renewals map[[sha256.Size]byte]*renewal
}

// session is what a browser keeps.
type session struct {
	User    string    `json:"u"`
	Groups  []string  `json:"g,omitempty"`
	Subject string    `json:"s"`
	Refresh string    `json:"r,omitempty"`
	Began   time.Time `json:"b"`
	// Until is when the provider's word ends.
	Until time.Time `json:"e"`
}

// attempt is a login under way.
type attempt struct {
	State    string    `json:"s"`
	Nonce    string    `json:"n"`
	Verifier string    `json:"v"`
	Next     string    `json:"x"`
	Until    time.Time `json:"e"`
}

type renewal struct {
	done   chan struct{}
	sealed string
	session
	err error
	at  time.Time
}

const (
	attemptAge   = 10 * time.Minute
	renewalKept  = time.Minute
	renewalsKept = 1000
	askProvider  = 10 * time.Second
)

// NewOIDC asks the provider where its pages are.
func NewOIDC(ctx context.Context, o Options) (*OIDC, error) {
	provider, err := oidc.NewProvider(oidc.ClientContext(ctx, o.HTTP), o.Issuer)
	if err != nil {
		return nil, fmt.Errorf("the issuer %s does not answer as OpenID Connect demands: %w", o.Issuer, err)
	}
	if o.Key == nil {
		o.Key = []byte(random())
	}
	s, err := newSealer(o.Key)
	if err != nil {
		return nil, err
	}
	return &OIDC{
		Options: o, sealer: s, renewals: map[[sha256.Size]byte]*renewal{},
		oauth: oauth2.Config{
			ClientID: o.ClientID, ClientSecret: o.ClientSecret, Endpoint: provider.Endpoint(), Scopes: o.Scopes, RedirectURL: o.URL.String() + "/callback",
		},
		verifier: provider.VerifierContext(oidc.ClientContext(context.WithoutCancel(ctx), o.HTTP), &oidc.Config{ClientID: o.ClientID, Now: o.Clock.Now}),
	}, nil
}

// Login reports that there is a page for it.
func (d *OIDC) Login() bool { return true }

// Handle adds the way to the provider, and the way back.
func (d *OIDC) Handle(handle func(string, http.HandlerFunc), refuse func(http.ResponseWriter, *http.Request, int, string)) {
	handle("GET login", d.begin)
	handle("GET callback", func(w http.ResponseWriter, r *http.Request) {
		next, refusal := d.finish(w, r)
		if refusal != "" {
			refuse(w, r, http.StatusForbidden, refusal)
			return
		}
		http.Redirect(w, r, next, http.StatusSeeOther)
	})
}

// Leave forgets the session of a browser.
func (d *OIDC) Leave(w http.ResponseWriter, r *http.Request) {
	_ = keep(w, r, sessionCookie, "", -1) // nothing is not too large
}

func (d *OIDC) begin(w http.ResponseWriter, r *http.Request) {
	a := attempt{State: random(), Nonce: random(), Verifier: oauth2.GenerateVerifier(), Next: d.next(r.URL.Query().Get("next")), Until: d.Clock.Now().Add(attemptAge)}
	http.SetCookie(w, cookie(loginCookie, d.sealer.seal(loginCookie, a), int(attemptAge.Seconds())))
	http.Redirect(w, r, d.oauth.AuthCodeURL(a.State, oidc.Nonce(a.Nonce), oauth2.S256ChallengeOption(a.Verifier)), http.StatusSeeOther)
}

// next is where to go after the login: a page of ours.
func (d *OIDC) next(wanted string) string {
	home := d.URL.Path + "/"
	if strings.HasPrefix(wanted, home) && !strings.HasPrefix(wanted, "//") && !strings.ContainsAny(wanted, "\\\r\n") && !strings.HasPrefix(wanted, home+"log") {
		return wanted
	}
	return home
}

// finish is the way back from the provider. It returns the page to go on with, or why the person is not logged in.
func (d *OIDC) finish(w http.ResponseWriter, r *http.Request) (next, refusal string) {
	http.SetCookie(w, cookie(loginCookie, "", -1))
	var a attempt
	q := r.URL.Query()
	sealed, err := r.Cookie(loginCookie)
	if err != nil || d.sealer.open(loginCookie, sealed.Value, &a) != nil || d.Clock.Now().After(a.Until) ||
		subtle.ConstantTimeCompare([]byte(a.State), []byte(q.Get("state"))) != 1 {
		return "", "This login was begun in another window, or too long ago. Open the dashboard again."
	}
	if problem := q.Get("error"); problem != "" {
		return "", "The identity provider refuses the login: " + strings.TrimSuffix(problem+": "+q.Get("error_description"), ": ") + "."
	}
	s, err := d.redeem(r.Context(), q.Get("code"), a)
	if err == nil {
		err = d.keep(w, r, d.sealer.seal(sessionCookie, s), s)
	}
	if err != nil {
		return "", "You cannot be logged in: " + err.Error() + "."
	}
	return a.Next, ""
}

func (d *OIDC) redeem(ctx context.Context, code string, a attempt) (session, error) {
	ctx, cancel := d.asking(ctx)
	defer cancel()
	token, err := d.oauth.Exchange(ctx, code, oauth2.VerifierOption(a.Verifier))
	if err != nil {
		return session{}, fmt.Errorf("the identity provider does not accept the code: %w", err)
	}
	s, nonce, err := d.read(ctx, token)
	if err != nil {
		return session{}, err
	}
	if subtle.ConstantTimeCompare([]byte(nonce), []byte(a.Nonce)) != 1 {
		return session{}, errors.New("the identity provider's answer is one to another login")
	}
	s.Began = d.Clock.Now()
	return s, nil
}

func (d *OIDC) asking(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(oidc.ClientContext(ctx, d.HTTP), askProvider)
}

// read verifies what the provider says of a person.
func (d *OIDC) read(ctx context.Context, token *oauth2.Token) (session, string, error) {
	raw, ok := token.Extra("id_token").(string)
	if !ok {
		return session{}, "", errors.New("the identity provider sent no ID token")
	}
	id, err := d.verifier.Verify(ctx, raw)
	if err != nil {
		return session{}, "", fmt.Errorf("the identity provider's ID token is not good: %w", err)
	}
	var claims map[string]any
	if err := id.Claims(&claims); err != nil {
		return session{}, "", fmt.Errorf("the identity provider's ID token cannot be read: %w", err)
	}
	s := session{Subject: id.Subject, Refresh: token.RefreshToken, Until: id.Expiry}
	s.User, s.Groups, err = d.person(claims)
	return s, id.Nonce, err
}

func (d *OIDC) keep(w http.ResponseWriter, r *http.Request, sealed string, s session) error {
	return keep(w, r, sessionCookie, sealed, int(d.MaxAge.Seconds())-int(d.Clock.Since(s.Began).Seconds()))
}

// Enter reads the session of a browser, and renews it if the provider's word has ended.
func (d *OIDC) Enter(w http.ResponseWriter, r *http.Request) (dashboard.Person, error) {
	sealed := kept(r, sessionCookie)
	var s session
	if sealed == "" || d.sealer.open(sessionCookie, sealed, &s) != nil {
		return dashboard.Person{}, dashboard.ErrUnknown
	}
	now := d.Clock.Now()
	if now.After(s.Began.Add(d.MaxAge)) {
		return dashboard.Person{}, dashboard.ErrUnknown
	}
	if now.After(s.Until) {
		if s.Refresh == "" {
			return dashboard.Person{}, dashboard.ErrUnknown
		}
		renewed, err := d.renewed(r.Context(), sealed, s)
		if err != nil {
			return dashboard.Person{}, err
		}
		s = renewed.session
		if err := d.keep(w, r, renewed.sealed, s); err != nil {
			return dashboard.Person{}, err
		}
	}
	client, err := impersonating(d.Base, s.User, s.Groups)
	if err != nil {
		return dashboard.Person{}, err
	}
	until := s.Began.Add(d.MaxAge)
	if s.Until.Before(until) {
		until = s.Until
	}
	return dashboard.Person{Name: s.User, Key: keyOf(s), Client: client, Until: until}, nil
}

// keyOf is the same for the same user with the same groups, and for nobody else.
func keyOf(s session) string {
	sum := sha256.New()
	for _, part := range append([]string{s.User}, s.Groups...) {
		_, _ = fmt.Fprintf(sum, "%d:%s", len(part), part) // never fails
	}
	return "user " + base64.RawURLEncoding.EncodeToString(sum.Sum(nil))
}

// renewed is the session that replaces one whose time is over. Of several requests one asks the provider.
func (d *OIDC) renewed(ctx context.Context, sealed string, old session) (*renewal, error) {
	key := sha256.Sum256([]byte(sealed))
	now := d.Clock.Now()
	d.mu.Lock()
	known := d.renewals[key]
	first := known == nil
	if first {
		d.forget(now)
		known = &renewal{done: make(chan struct{}), at: now}
		d.renewals[key] = known
	}
	d.mu.Unlock()
	if first {
		known.session, known.err = d.renew(context.WithoutCancel(ctx), old) // others wait for it
		if known.err == nil {
			known.sealed = d.sealer.seal(sessionCookie, known.session)
		} else {
			d.mu.Lock()
			delete(d.renewals, key)
			d.mu.Unlock()
		}
		close(known.done)
	}
	select {
	case <-known.done:
		return known, known.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// forget removes renewals that no request needs anymore.
func (d *OIDC) forget(now time.Time) {
	for key, old := range d.renewals {
		if now.Sub(old.at) > renewalKept || len(d.renewals) >= renewalsKept {
			delete(d.renewals, key)
		}
	}
}

func (d *OIDC) renew(ctx context.Context, old session) (session, error) {
	ctx, cancel := d.asking(ctx)
	defer cancel()
	token, err := d.oauth.TokenSource(ctx, &oauth2.Token{RefreshToken: old.Refresh}).Token()
	if refusal := (*oauth2.RetrieveError)(nil); errors.As(err, &refusal) && refusal.Response.StatusCode < http.StatusInternalServerError {
		return session{}, dashboard.ErrUnknown // the provider has ended it
	}
	if err != nil {
		return session{}, fmt.Errorf("the identity provider does not answer: %w", err)
	}
	s, _, err := d.read(ctx, token)
	if err != nil || s.Subject != old.Subject {
		return session{}, dashboard.ErrUnknown
	}
	s.Began = old.Began
	return s, nil
}
