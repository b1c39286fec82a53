package shell

import (
	"math/rand/v2"
	"time"
)

// Weather is how much goes wrong. The zero value is fair weather.
type Weather struct {
	// Chances in a thousand: that a watch is late with a change, that it is cut off and has to list again, that it reports a change twice,
	// that a request times out, that a reconcile ends in a crash, that another process takes over, that something happens before a write.
	Late, Cut, Twice, Timeout, Crash, HandOver, Slow int
	// Standby: a process that takes over has followed its watches for long, and may be behind when it does. Otherwise it lists everything.
	Standby bool
}

const (
	// latest is how late a watch is with a change at most, longestCut how long it is cut off.
	latest, longestCut = 6 * time.Second, 40 * time.Second
	// longestDown is how long it takes at most until a process is started that takes the place of one that crashed.
	longestDown = 20 * time.Second
	// shortestLead is how long a process leads at least: a lease is not taken over and over while the queue is worked off once.
	shortestLead = time.Second
	// longestWrite is how long a request is on its way at most, longestStall how long a process stands still that loses the lead.
	longestWrite, longestStall = 300 * time.Millisecond, 20 * time.Second
	// longestErrand is the longest time before a measurement starts, or before an asynchronous write does.
	longestErrand = 3 * time.Second
)

// Fate makes the choices that the weather leaves open. Each is told what it is about, so that a history can be written down, and played again
// by what happened in it.
type Fate interface {
	// Happens reports whether something does that has a chance in a thousand.
	Happens(what string, chance int) bool
	// UpTo is some time, less than the longest.
	UpTo(what string, longest time.Duration) time.Duration
	// OneOf is a number less than n.
	OneOf(what string, n int) int
	// Order puts n things into some order.
	Order(what string, n int, swap func(i, j int))
}

// Dice is a Fate of random numbers.
type Dice struct{ *rand.Rand }

// Happens throws dice only for what has a chance.
func (d Dice) Happens(_ string, chance int) bool { return chance > 0 && d.IntN(1000) < chance }

// UpTo is any time.
func (d Dice) UpTo(_ string, longest time.Duration) time.Duration {
	return time.Duration(d.Int64N(int64(longest)))
}

// OneOf is any number.
func (d Dice) OneOf(_ string, n int) int { return d.IntN(n) }

// Order shuffles.
func (d Dice) Order(_ string, n int, swap func(i, j int)) { d.Shuffle(n, swap) }
