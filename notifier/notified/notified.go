// Package notified reads and writes the annotation in which Argo Rollouts remembers what was sent, so that a take-over in either direction
// repeats nothing: a JSON object of keys and the seconds since 1970 when each message was sent.
//
// What must not be here: clients, clocks.
package notified

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/notifier/config"
)

// Annotation is the annotation's key.
const Annotation = "notified.notifications.argoproj.io"

// Before is the annotation's key for states that are over: the milliseconds since 1970 when they ended. Argo Rollouts has no such annotation. It
// tells a state that nobody saw from one that was reported.
const Before = "rollouts.argoproj.io/notified-before"

// most is how many messages are remembered, the newest ones.
const most = 100

// State is what was sent: the seconds since 1970 by key.
type State map[string]int64

// Parse reads the annotation. What is no such object counts as empty, as it does for Argo Rollouts.
func Parse(text string) State {
	s := State{}
	if text == "" {
		return s
	}
	if err := json.Unmarshal([]byte(text), &s); err != nil || s == nil {
		return State{}
	}
	return s
}

// Forget removes keys from an object's annotation.
func Forget(object metav1.Object, keys []string) {
	annotations := maps.Clone(object.GetAnnotations())
	s := Parse(annotations[Annotation])
	for _, key := range keys {
		delete(s, key)
	}
	annotations[Annotation] = s.String()
	object.SetAnnotations(annotations)
}

// Message names one message.
type Message struct {
	// Once is the value of oncePer, Namespace that of a self-service configuration; both may be empty.
	Once, Namespace string
	Trigger         string
	// Condition is its config.Condition.Key.
	Condition string
	To        config.Destination
}

// Key is the message's key in the annotation.
func (m Message) Key() string {
	parts := []string{m.Trigger, m.Condition, m.To.Service, m.To.Recipient}
	if m.Namespace != "" {
		parts = append([]string{m.Namespace}, parts...)
	}
	if m.Once != "" {
		parts = append([]string{m.Once}, parts...)
	}
	return strings.Join(parts, ":")
}

// Set remembers a message.
func (s State) Set(key string, at time.Time) { s[key] = at.Unix() }

// Drop removes what is older, where times are milliseconds.
func (s State) Drop(before time.Time) {
	maps.DeleteFunc(s, func(_ string, at int64) bool { return at < before.UnixMilli() })
}

// String is the annotation's value, empty if nothing is left.
func (s State) String() string {
	if len(s) == 0 {
		return ""
	}
	if surplus := len(s) - most; surplus > 0 {
		oldest := slices.SortedFunc(maps.Keys(s), func(a, b string) int {
			if s[a] != s[b] {
				return int(s[a] - s[b])
			}
			return strings.Compare(a, b)
		})
		for _, key := range oldest[:surplus] {
			delete(s, key)
		}
	}
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // strings and numbers
	}
	return string(text)
}
