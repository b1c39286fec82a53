package login

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// sealer encrypts what a browser keeps for us. Nobody else can read or change it, or use one cookie in place of another.
type sealer struct{ aead cipher.AEAD }

// newSealer makes one for the key of all replicas.
func newSealer(key []byte) (sealer, error) {
	derived, err := hkdf.Key(sha256.New, key, nil, "sluice-dashboard cookies", 32)
	if err != nil {
		return sealer{}, err
	}
	block, err := aes.NewCipher(derived)
	if err != nil {
		return sealer{}, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return sealer{aead}, err
}

func (s sealer) seal(name string, v any) string {
	text, _ := json.Marshal(v) // texts and numbers
	return base64.RawURLEncoding.EncodeToString(s.aead.Seal(nil, nil, text, []byte(name)))
}

func (s sealer) open(name, sealed string, into any) error {
	raw, err := base64.RawURLEncoding.DecodeString(sealed)
	if err != nil {
		return err
	}
	text, err := s.aead.Open(nil, nil, raw, []byte(name))
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// random is a value that nobody can guess.
func random() string {
	b := make([]byte, 32)
	_, _ = rand.Read(b) // never fails, or ends the process
	return base64.RawURLEncoding.EncodeToString(b)
}

// A cookie holds about 4 KiB, a session with many groups and a long refresh token more than that.
const (
	cookiePart  = 3800
	cookieParts = 5
)

// The names of cookies. Browsers accept this prefix only by HTTPS and for one host, and no path can take it over.
const (
	sessionCookie = "__Host-sluice-dashboard"
	loginCookie   = "__Host-sluice-dashboard-login"
)

func cookie(name, value string, age int) *http.Cookie {
	// Lax, not Strict: the browser comes back from the provider, which is another site. Forms are protected by themselves.
	return &http.Cookie{Name: name, Value: value, Path: "/", MaxAge: age, Secure: true, HttpOnly: true, SameSite: http.SameSiteLaxMode}
}

var errTooLarge = errors.New("the provider's answer does not fit into cookies: it has too many groups, or a very long refresh token")

// keep sets a value in as many cookies as it takes, and removes those that an older one had more.
func keep(w http.ResponseWriter, r *http.Request, name, value string, age int) error {
	if len(value) > cookiePart*cookieParts {
		return errTooLarge
	}
	for i := range cookieParts {
		part := name
		if i > 0 {
			part = fmt.Sprintf("%s-%d", name, i)
		}
		piece := value[:min(len(value), cookiePart)]
		value = value[len(piece):]
		if piece != "" {
			http.SetCookie(w, cookie(part, piece, age))
		} else if _, err := r.Cookie(part); err == nil {
			http.SetCookie(w, cookie(part, "", -1))
		}
	}
	return nil
}

// kept is the value that the cookies of a name hold.
func kept(r *http.Request, name string) string {
	var value strings.Builder
	for i := range cookieParts {
		part := name
		if i > 0 {
			part = fmt.Sprintf("%s-%d", name, i)
		}
		c, err := r.Cookie(part)
		if err != nil {
			break
		}
		value.WriteString(c.Value)
	}
	return value.String()
}
