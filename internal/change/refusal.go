package change

import "time"

// Refusal is the API server's refusal to change an object.
type Refusal struct {
	Message string
	At      time.Time
}

// CreateFailure is the API server's refusal to create a ReplicaSet, of a kind that a retry does not fix.
type CreateFailure struct {
	Name string
	// Taken: an object that is not this Rollout's, or not of this template, has the name already.
	Taken bool
	// Leaving: that object is on its way out, or of an Experiment that ends. The name will be free.
	Leaving bool
	// Message is what the API server said.
	Message string
}
