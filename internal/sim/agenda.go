package sim

import "time"

// agenda is when each object of a kind is looked at next, by its name: because of something that happened, or since the last plan asked
// for it.
type agenda struct{ due, wake map[string]time.Time }

func newAgenda() agenda { return agenda{due: map[string]time.Time{}, wake: map[string]time.Time{}} }

// look arranges a look at an object.
func (a agenda) look(name string, at time.Time) { a.due[name] = earliest(a.due[name], at) }

// soonest is the first of these objects that is to be looked at, and when; empty for none.
func soonest[T Object](a agenda, of []T) (at time.Time, name string) {
	for _, o := range of {
		n := o.GetName()
		due := earliest(a.due[n], a.wake[n])
		if !due.IsZero() && (at.IsZero() || due.Before(at)) {
			at, name = due, n
		}
	}
	return at, name
}

// take strikes an object off, which is being looked at.
func (a agenda) take(name string) {
	delete(a.due, name)
	delete(a.wake, name)
}
