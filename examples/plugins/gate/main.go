// Command gate is a step plugin: it asks an address until that answers with a status between 200 and 299, and lets the update continue then. After
// too many other answers the step fails, and the update is aborted. A sample to begin one's own with.
//
//	steps:
//	  - plugin:
//	      name: samples/gate
//	      config: {url: "https://gates.example.com/web", attempts: 10, every: 30s}
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/sluice-delivery/sluice/api/plugin"
	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// patience is how long one request may take. The controller ends a call after a minute, unless the plugin's entry says otherwise.
const patience = 30 * time.Second

func main() { plugin.ServeStep(&gate{client: &http.Client{Timeout: patience}}) }

// settings are what stands below config in the step.
type settings struct {
	URL string `json:"url"`
	// Attempts is how many answers there may be in all, 10 by default; Every is how long to wait in between, 30s by default.
	Attempts int    `json:"attempts"`
	Every    string `json:"every"`
}

// state is what the controller keeps for the plugin between two calls: the plugin itself may be restarted at any time.
type state struct {
	Attempts int    `json:"attempts"`
	Last     string `json:"last"`
}

type gate struct{ client *http.Client }

func (*gate) Init() error { return nil }

// Run asks once. It may be called again with the same state, as an answer may be lost on its way.
func (g *gate) Run(ro *v1alpha1.Rollout, c plugin.StepContext) (plugin.StepResult, error) {
	s, every, err := read(c.Config)
	if err != nil {
		return plugin.StepResult{Phase: "Failed", Message: err.Error()}, nil //nolint:nilerr // no later call would succeed, and errors are retried
	}
	var was state
	if len(c.Status) > 0 {
		if err := json.Unmarshal(c.Status, &was); err != nil {
			return plugin.StepResult{}, fmt.Errorf("state of the step: %w", err)
		}
	}
	open, answer := g.ask(s.URL, ro)
	is, err := json.Marshal(state{Attempts: was.Attempts + 1, Last: answer})
	if err != nil {
		return plugin.StepResult{}, err
	}
	result := plugin.StepResult{Phase: "Running", Message: fmt.Sprintf("attempt %d of %d: %s", was.Attempts+1, s.Attempts, answer), RequeueAfter: every, Status: is}
	switch {
	case open:
		result.Phase = "Successful"
	case was.Attempts+1 >= s.Attempts:
		result.Phase = "Failed"
	}
	return result, nil
}

func read(config []byte) (settings, time.Duration, error) {
	s := settings{Attempts: 10, Every: "30s"}
	if err := json.Unmarshal(config, &s); err != nil {
		return s, 0, fmt.Errorf("config: %w", err)
	}
	if u, err := url.Parse(s.URL); err != nil || u.Host == "" {
		return s, 0, fmt.Errorf("config.url %q: write for example https://gates.example.com/web", s.URL)
	}
	every, err := time.ParseDuration(s.Every)
	if err != nil || every < 10*time.Second {
		return s, 0, fmt.Errorf("config.every %q: write 10s or more", s.Every)
	}
	if s.Attempts < 1 {
		return s, 0, errors.New("config.attempts: write 1 or more")
	}
	return s, every, nil
}

// ask asks the gate, and says whose update it is about.
func (g *gate) ask(address string, ro *v1alpha1.Rollout) (open bool, answer string) {
	request, err := http.NewRequest(http.MethodGet, address, nil) //nolint:noctx // the client has a limit
	if err != nil {
		return false, err.Error()
	}
	request.Header.Set("X-Rollout", ro.Namespace+"/"+ro.Name)
	response, err := g.client.Do(request)
	if err != nil {
		return false, err.Error()
	}
	defer func() { _ = response.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 1<<20)) // so that the connection can be used again
	return response.StatusCode >= 200 && response.StatusCode < 300, response.Status
}

// Terminate has nothing to stop: nothing is under way between two calls.
func (*gate) Terminate(*v1alpha1.Rollout, plugin.StepContext) (plugin.StepResult, error) {
	return plugin.StepResult{Phase: "Successful"}, nil
}

// Abort has nothing to undo.
func (*gate) Abort(*v1alpha1.Rollout, plugin.StepContext) (plugin.StepResult, error) {
	return plugin.StepResult{Phase: "Successful", Message: "a gate leaves nothing to undo"}, nil
}
