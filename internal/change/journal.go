package change

import (
	"fmt"
	"slices"
	"time"
)

// Journal is what a pass has to say, beside its writes. The zero value is an empty one.
type Journal struct {
	// Events are published after the record. Each reports a change, so a pass that changes nothing has none.
	Events []Event
	// Notes are the decisions with their reasons, in the order in which they were taken.
	Notes []Note
	// Needs is what must be looked at before more can be decided.
	Needs []Need
	// Wake is when to reconcile again if nothing happens first. Zero: there is nothing to wait for.
	Wake time.Time
}

// Note adds a decision and its reason.
func (j *Journal) Note(topic Topic, text, reason string) {
	j.Notes = append(j.Notes, Note{Topic: topic, Text: text, Reason: reason})
}

// Hold adds that something waits because of a promise, and until when.
func (j *Journal) Hold(by Promise, text, until string) {
	j.Notes = append(j.Notes, Note{Topic: TopicWait, Text: text, Reason: until, Promise: by})
}

// Event adds an event of type Normal.
func (j *Journal) Event(reason, format string, args ...any) { j.Report(false, reason, format, args...) }

// Warn adds an event of type Warning.
func (j *Journal) Warn(reason, format string, args ...any) { j.Report(true, reason, format, args...) }

// Report adds an event of either type.
func (j *Journal) Report(warning bool, reason, format string, args ...any) {
	j.Events = append(j.Events, Event{Warning: warning, Reason: reason, Message: fmt.Sprintf(format, args...)})
}

// WakeAt asks for another look at t, or earlier if an earlier one was asked for. The zero time asks for none.
func (j *Journal) WakeAt(t time.Time) {
	if j.Wake.IsZero() || !t.IsZero() && t.Before(j.Wake) {
		j.Wake = t
	}
}

// Need asks for something to be looked at, once.
func (j *Journal) Need(n Need) {
	if !slices.Contains(j.Needs, n) {
		j.Needs = append(j.Needs, n)
	}
}

// Event is one Kubernetes event on the Rollout. The reasons are API: notification triggers and people's scripts name them.
type Event struct {
	Warning bool
	Reason  string
	Message string
}

// Topic is what a note is about.
type Topic string

// The topics of notes.
const (
	TopicGrow   Topic = "grow"   // pods are added
	TopicRoute  Topic = "route"  // traffic is sent elsewhere
	TopicShrink Topic = "shrink" // pods or old ReplicaSets are deleted
	TopicLabel  Topic = "label"  // pods get the labels and annotations of their version's part
	TopicWait   Topic = "wait"   // something must come first
	TopicJudge  Topic = "judge"  // analyses begin and end
	TopicStep   Topic = "step"   // a step of the canary ended or began
	TopicUpdate Topic = "update" // an update begins, ends, is aborted or tried again
	TopicRefuse Topic = "refuse" // the spec asks for what cannot be done
)

// Note is one decision and its reason.
type Note struct {
	Topic        Topic
	Text, Reason string
	// Promise is what holds something back, if that is what the note says.
	Promise Promise
}

// Promise is what holds whatever a strategy wants. The package plan/move has the list.
type Promise struct {
	Name     string `json:"name"`
	Sentence string `json:"sentence"`
}
