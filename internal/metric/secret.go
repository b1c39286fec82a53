package metric

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Secrets are values that must not be shown.
type Secrets []string

// hidden is what stands in their place.
const hidden = "*****"

// Hide replaces the values in a text, also where they are written as parts of JSON, of a URL or in quotes, and where spaces or line
// ends of it were taken off.
func (s Secrets) Hide(text string) string {
	var all []string
	for _, secret := range s {
		for _, value := range []string{secret, strings.TrimSpace(secret), strings.Join(strings.Fields(secret), " ")} {
			for _, shape := range []string{
				value, inJSON(value), strings.Trim(strconv.Quote(value), `"`), url.QueryEscape(value), url.PathEscape(value),
			} {
				if shape != "" && !slices.Contains(all, shape) {
					all = append(all, shape)
				}
			}
		}
	}
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) }) // the longest first: one may contain another
	for _, value := range all {
		text = strings.ReplaceAll(text, value, hidden)
	}
	return text
}

func inJSON(value string) string {
	quoted, err := json.Marshal(value)
	if err != nil {
		panic(err) // a string can always be written
	}
	return string(quoted[1 : len(quoted)-1])
}

// ReadSecret reads a Secret. An empty namespace is that of the controller.
type ReadSecret func(ctx context.Context, namespace, name string) (map[string]string, error)

// Keys are the credentials of one measurement.
type Keys struct {
	// Read reads a Secret; nil where there are none.
	Read ReadSecret
	// Hidden are the values that must not be shown in whatever comes of the measurement.
	Hidden Secrets
}

// Secret reads the Secret that a metric names. Its values are not hidden yet: some of them are addresses, which users need to see.
func (k *Keys) Secret(ctx context.Context, namespace, name string) (map[string]string, error) {
	if k == nil || k.Read == nil {
		return nil, fmt.Errorf("Secret %q cannot be read here", name)
	}
	return k.Read(ctx, namespace, name)
}

// HideIn replaces the values in a text that must not be shown.
func (k *Keys) HideIn(text string) string {
	if k == nil {
		return text
	}
	return k.Hidden.Hide(text)
}

// Hide keeps values out of whatever is shown of the measurement.
func (k *Keys) Hide(values ...string) {
	if k == nil {
		return
	}
	for _, value := range values {
		if strings.TrimSpace(value) != "" && !slices.Contains(k.Hidden, value) {
			k.Hidden = append(k.Hidden, value)
		}
	}
}

// ErrNoSecret is the error of [ReadSecret] for a Secret that does not exist.
var ErrNoSecret = errors.New("not found")
