package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// MostBytes is how long an answer may be where nothing else is said.
	MostBytes = 1 << 20
	// attempts is how often a server is asked within one measurement, and firstBackoff how long before the second time.
	attempts     = 3
	firstBackoff = 500 * time.Millisecond
)

// Question is a request to a server.
type Question struct {
	Options
	// Method is GET where it is empty.
	Method string
	Body   []byte
	// Timeout is how long to wait, for all attempts together.
	Timeout time.Duration
	// Once: the request starts something, so it is repeated only if the server says that it did nothing.
	Once bool
}

// Answer is what a server answered, with whatever status.
type Answer struct {
	Status int
	Body   []byte
	// RetryAfter is when the server wants to be asked again, zero if it does not say.
	RetryAfter time.Duration
}

// OK reports whether the status is that of a success.
func (a Answer) OK() bool { return a.Status >= 200 && a.Status <= 299 }

// Unauthorized reports whether the credentials were not accepted.
func (a Answer) Unauthorized() bool {
	return a.Status == http.StatusUnauthorized || a.Status == http.StatusForbidden
}

// Refusal is the error for an answer that is no success.
func (a Answer) Refusal() error {
	text := fmt.Sprintf("it answered %d %s", a.Status, http.StatusText(a.Status))
	if len(bytes.TrimSpace(a.Body)) > 0 {
		text += ": " + a.Excerpt()
	}
	if a.RetryAfter > 0 {
		text += fmt.Sprintf("; it wants to be asked again after %s: measure less often", a.RetryAfter)
	}
	return errors.New(text)
}

// Decode reads an answer of JSON.
func (a Answer) Decode(into any) error {
	if string(bytes.TrimSpace(a.Body)) == "null" {
		return errors.New("Could not parse JSON body: it is null") //nolint:staticcheck // the text is known
	}
	if err := json.Unmarshal(a.Body, into); err != nil {
		return fmt.Errorf("Could not parse JSON body: %v: %s", err, a.Excerpt()) //nolint:errorlint,staticcheck // the text is known
	}
	return nil
}

// Excerpt is an answer on one line. It is not cut here but where it is written down: a Secret that was cut in two would not be found.
func (a Answer) Excerpt() string {
	return fmt.Sprintf("%q", strings.Join(strings.Fields(string(a.Body)), " "))
}

// Ask asks a server. It asks again where the server is overloaded or being restarted, when the server says or after a moment, as long as
// the timeout allows.
func Ask(ctx context.Context, q Question) (Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, q.Timeout)
	defer cancel()
	if q.MostBytes == 0 {
		q.MostBytes = MostBytes
	}
	client, err := Client(q.Options)
	if err != nil {
		return Answer{}, err
	}
	network := q.Network.orDefault()
	backoff := network.backoff
	for attempt := 1; ; attempt++ {
		answer, err := q.ask(ctx, client, network)
		if attempt == attempts || !q.again(answer, err) {
			return answer, Explain(err, q.Timeout)
		}
		pause := max(answer.RetryAfter, backoff)
		if deadline, ok := ctx.Deadline(); ok && network.clock.Now().Add(pause).After(deadline) {
			return answer, Explain(err, q.Timeout)
		}
		timer := network.clock.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return answer, Explain(err, q.Timeout)
		case <-timer.C():
		}
		backoff *= 2
	}
}

// Succeed asks a server, for which anything but a success is an error.
func Succeed(ctx context.Context, q Question) (Answer, error) {
	answer, err := Ask(ctx, q)
	if err == nil && !answer.OK() {
		err = answer.Refusal()
	}
	return answer, err
}

// again reports whether asking again may help.
func (q Question) again(a Answer, err error) bool {
	if err != nil {
		return !q.Once && (errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.ECONNREFUSED))
	}
	switch a.Status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return true
	case http.StatusBadGateway, http.StatusGatewayTimeout:
		return !q.Once
	}
	return false
}

func (q Question) ask(ctx context.Context, client *http.Client, network *Network) (Answer, error) {
	method := q.Method
	if method == "" {
		method = http.MethodGet
	}
	request, err := http.NewRequestWithContext(ctx, method, q.URL, bytes.NewReader(q.Body))
	if err != nil {
		return Answer{}, err
	}
	if len(q.Body) == 0 {
		request.Body, request.ContentLength = http.NoBody, 0
	}
	response, err := client.Do(request)
	if err != nil {
		return Answer{}, err
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return Answer{}, err
	}
	return Answer{Status: response.StatusCode, Body: body, RetryAfter: retryAfter(response.Header.Get("Retry-After"), network.clock.Now())}, nil
}

// retryAfter reads the header of that name: seconds or a time.
func retryAfter(text string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseInt(text, 10, 32); err == nil {
		return max(0, time.Duration(seconds)*time.Second)
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, at.Sub(now).Round(time.Second))
	}
	return 0
}

// Place is an address without what must not be shown of it: a password, and what is asked.
func Place(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "an address that is not a URL"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// At is the address of a path of a server.
func At(address, path string) string { return strings.TrimRight(address, "/") + path }
