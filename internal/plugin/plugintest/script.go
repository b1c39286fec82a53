package plugintest

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// Question is what the plugin was asked.
type Question struct {
	Method string
	// Rollout is the namespace and the name of the Rollout or AnalysisRun.
	Of     string
	Weight int32
	// Max is that of the Rollout's weights.
	Max        int32
	Additional []v1alpha1.WeightDestination
	// Route is the name of a header route or of a mirror route.
	Route  string
	Config json.RawMessage
	State  json.RawMessage
}

// Answer is what it answers, each kind and method its own part.
type Answer struct {
	Phase, Message, Value, Error string
	Again                        time.Duration
	State                        json.RawMessage
	Verified                     int32
	Metadata                     map[string]string
}

// Script is the server of a test that plugins ask.
type Script struct {
	*httptest.Server
	// Held are the questions that wait until the test calls LetGo.
	Held chan Question

	mu      sync.Mutex
	hold    func(Question) bool
	letGo   chan struct{}
	answers func(Question) Answer
}

// NewScript answers questions by a function.
func NewScript(t testing.TB, answers func(Question) Answer) *Script {
	s := &Script{Held: make(chan Question), letGo: make(chan struct{}), hold: func(Question) bool { return false }, answers: answers}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

// Hold has questions wait from now on.
func (s *Script) Hold(which func(Question) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hold, s.letGo = which, make(chan struct{})
}

// LetGo has all questions answered, those that wait and those that come.
func (s *Script) LetGo() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.letGo)
	s.hold = func(Question) bool { return false }
}

func (s *Script) serve(w http.ResponseWriter, r *http.Request) {
	var q Question
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	held, letGo := s.hold(q), s.letGo
	s.mu.Unlock()
	if held {
		select {
		case s.Held <- q:
		case <-letGo:
		case <-r.Context().Done():
			return
		}
		select {
		case <-letGo:
		case <-r.Context().Done():
			return
		}
	}
	s.mu.Lock()
	answer := s.answers(q)
	s.mu.Unlock()
	_ = json.NewEncoder(w).Encode(answer) // or the plugin is gone
}
