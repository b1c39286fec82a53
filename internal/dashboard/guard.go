package dashboard

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// guard decides which requests are answered at all, and which may change something. On a person's machine every page of every site that the
// browser has open can send requests to a port of localhost, and every program can connect to it.
type guard struct {
	hosts []string
	// key signs what the browser keeps for us. It lasts as long as the process.
	key []byte
	// bearer is what scripts send, empty if there is none.
	bearer string

	mu sync.Mutex
	// invitation is the token of the printed link: it is good once, and then there is another one.
	invitation string
	invited    func(token string)

	logins, actions *rate.Limiter
	streams         chan struct{}
}

// The limits of what one process answers. People do not reach them.
const (
	loginsPerMinute = 10
	actionsAtOnce   = 20
	streamsAtOnce   = 200
	bodyBytes       = 64 << 10
)

func newGuard(o Options) *guard {
	g := &guard{
		hosts: o.Hosts, bearer: o.Bearer, key: o.Secret, invited: o.Invited,
		logins:  rate.NewLimiter(rate.Every(time.Minute/loginsPerMinute), loginsPerMinute),
		actions: rate.NewLimiter(rate.Every(time.Second/2), actionsAtOnce),
		streams: make(chan struct{}, streamsAtOnce),
	}
	if g.key == nil {
		g.key = random()
	}
	if o.Door == nil {
		g.invite()
		return g
	}
	g.logins = rate.NewLimiter(loginsOfAll, loginsOfAll)
	g.actions = rate.NewLimiter(actionsOfAll, 2*actionsOfAll)
	g.streams = make(chan struct{}, streamsOfAll)
	return g
}

// With a door there are many people. Each has limits of his own, and all together a second these.
const (
	loginsOfAll  = 50
	actionsOfAll = 50
	streamsOfAll = 2000
)

func random() []byte {
	b := make([]byte, 32)
	_, _ = rand.Read(b) // never fails, or ends the process
	return b
}

func text(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func (g *guard) invite() {
	g.invitation = text(random())
	g.invited(g.invitation)
}

// admit exchanges the token of a link. The next one needs a new link.
func (g *guard) admit(token string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if subtle.ConstantTimeCompare([]byte(token), []byte(g.invitation)) != 1 {
		return false
	}
	g.invite()
	return true
}

// policy is what the browser lets a page of ours do.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// headers keep a page of ours from running anything but our own script, and from being shown inside another page.
func headers(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Frame-Options", "DENY")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin") // with no-referrer a browser sends our own forms with the origin "null"
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	h.Set("Vary", "Accept, Cookie")
}

// problem is why a request is refused, in words for the sender.
type problem struct {
	status int
	text   string
}

// check is what holds for every request, from anyone. What is embedded may come from pages of other sites.
func (g *guard) check(r *http.Request, now time.Time, embedded bool) *problem {
	if !g.knows(r.Host) {
		return &problem{http.StatusMisdirectedRequest, "This dashboard does not answer to the host " + r.Host + ". Use the address that it printed."}
	}
	changes := r.Method != http.MethodGet && r.Method != http.MethodHead
	if !embedded && !sameOrigin(r, changes) {
		return &problem{http.StatusForbidden, "This request was sent by another site. Open the dashboard itself and try again."}
	}
	if changes && !g.actions.AllowN(now, 1) {
		return &problem{http.StatusTooManyRequests, "Too many actions at once. Wait a few seconds and try again."}
	}
	return nil
}

// knows reports whether a Host header names this server: a name of an attacker that resolves to this machine is not one of ours.
func (g *guard) knows(host string) bool { return slices.Contains(g.hosts, strings.ToLower(host)) }

// sameOrigin reports whether a request comes from a page of ours, from nobody's page (an address bar, a script on the command line), or
// follows a link without changing anything.
func sameOrigin(r *http.Request, changes bool) bool {
	if origin := r.Header.Get("Origin"); origin != "" {
		u, err := url.Parse(origin)
		if err != nil || !strings.EqualFold(u.Host, r.Host) {
			return false
		}
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "none", "same-origin":
		return true
	}
	return !changes && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
}

// identity is who sends a request, as far as this process is concerned.
type identity struct {
	known bool
	// session is what forms are signed for, empty if there can be none.
	session string
	// script: the request carries a token, which no page of another site can make a browser do.
	script bool
	person *person
}

// identify reads the session of a browser, or the token of a script.
func (g *guard) identify(r *http.Request, cookie string) identity {
	if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return identity{script: true, known: g.bearer != "" && subtle.ConstantTimeCompare([]byte(token), []byte(g.bearer)) == 1}
	}
	c, err := r.Cookie(cookie)
	if err != nil {
		return identity{}
	}
	id, signature, ok := strings.Cut(c.Value, ".")
	return identity{known: ok && g.signed("session", id, signature), session: c.Value}
}

// session is a new value of the session's cookie.
func (g *guard) session() string {
	id := text(random())
	return id + "." + g.sign("session", id)
}

// csrf is what a form of this session carries; pages of other sites cannot know it.
func (g *guard) csrf(session string) string { return g.sign("form", session) }

func (g *guard) sign(use, value string) string {
	mac := hmac.New(sha256.New, g.key)
	mac.Write([]byte(use + "\x00" + value))
	return text(mac.Sum(nil))
}

func (g *guard) signed(use, value, signature string) bool {
	return subtle.ConstantTimeCompare([]byte(signature), []byte(g.sign(use, value))) == 1
}

// Loopback are the names under which a port of this machine is reached by its own people.
func Loopback(port string) []string {
	var hosts []string
	for _, host := range []string{"localhost", "127.0.0.1", "::1"} {
		hosts = append(hosts, net.JoinHostPort(host, port))
	}
	return hosts
}

// IsLoopback reports whether an address to listen on is reached from this machine only.
func IsLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}
