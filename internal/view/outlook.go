package view

import "time"

// Outlook is how an update goes on from now, if nothing unexpected happens.
type Outlook struct {
	// From is the time of the observation that it begins with.
	From time.Time
	// Stretches are what happens until nothing more does. Where a person has to act, a new one begins.
	Stretches []Stretch
	// Startup is how long pods were assumed to take until they are ready.
	Startup time.Duration
	// Result is how it ends, such as "promoted". Empty if there is no update.
	Result string
	// Cut is why it was not played to its end, empty if it was.
	Cut string
}

// Stretch is a part of an outlook that takes a known time.
type Stretch struct {
	// Promoted: it begins when someone promotes, so only the time since then is known.
	Promoted bool
	Moments  []Moment
}
