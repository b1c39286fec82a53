// Command scripted is a plugin of each kind for tests: it asks the server whose address is its argument what to answer.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"

	"github.com/sluice-delivery/sluice/api/plugin"
	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/plugin/plugintest"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: scripted URL")
		os.Exit(2)
	}
	s := script(os.Args[1])
	switch plugin.Kind(os.Getenv("ARGO_ROLLOUTS_RPC_PLUGIN")) {
	case plugin.Step:
		plugin.ServeStep(step{s})
	case plugin.MetricProvider:
		plugin.ServeMetric(metric{s})
	default:
		plugin.ServeRouter(router{s})
	}
}

// script is where answers come from.
type script string

func (s script) ask(q plugintest.Question) plugintest.Answer {
	var answer plugintest.Answer
	asked, err := json.Marshal(q)
	if err != nil {
		return plugintest.Answer{Error: err.Error()}
	}
	response, err := http.Post(string(s), "application/json", bytes.NewReader(asked)) //nolint:gosec,noctx // the test's server, which may take its time
	if err != nil {
		return plugintest.Answer{Error: err.Error()}
	}
	defer func() { _ = response.Body.Close() }()
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return plugintest.Answer{Error: err.Error()}
	}
	return answer
}

func failure(a plugintest.Answer) error {
	if a.Error == "" {
		return nil
	}
	return errors.New(a.Error)
}

type step struct{ script }

func (step) Init() error { return nil }

func (s step) do(method string, ro *v1alpha1.Rollout, c plugin.StepContext) (plugin.StepResult, error) {
	a := s.ask(plugintest.Question{Method: method, Of: ro.Namespace + "/" + ro.Name, Config: c.Config, State: c.Status})
	return plugin.StepResult{Phase: a.Phase, Message: a.Message, RequeueAfter: a.Again, Status: a.State}, failure(a)
}

func (s step) Run(ro *v1alpha1.Rollout, c plugin.StepContext) (plugin.StepResult, error) {
	return s.do("Run", ro, c)
}

func (s step) Terminate(ro *v1alpha1.Rollout, c plugin.StepContext) (plugin.StepResult, error) {
	return s.do("Terminate", ro, c)
}

func (s step) Abort(ro *v1alpha1.Rollout, c plugin.StepContext) (plugin.StepResult, error) {
	return s.do("Abort", ro, c)
}

type metric struct{ script }

func (metric) Init() error { return nil }

func (m metric) do(method string, run *v1alpha1.AnalysisRun) v1alpha1.Measurement {
	a := m.ask(plugintest.Question{Method: method, Of: run.Namespace + "/" + run.Name})
	out := v1alpha1.Measurement{Phase: v1alpha1.AnalysisPhase(a.Phase), Message: a.Message, Value: a.Value, Metadata: a.Metadata}
	if a.Error != "" {
		out.Phase, out.Message = v1alpha1.AnalysisPhaseError, a.Error
	}
	return out
}

func (m metric) Run(run *v1alpha1.AnalysisRun, _ v1alpha1.Metric) v1alpha1.Measurement {
	return m.do("Run", run)
}

func (m metric) Resume(run *v1alpha1.AnalysisRun, _ v1alpha1.Metric, _ v1alpha1.Measurement) v1alpha1.Measurement {
	return m.do("Resume", run)
}

func (m metric) Terminate(run *v1alpha1.AnalysisRun, _ v1alpha1.Metric, _ v1alpha1.Measurement) v1alpha1.Measurement {
	return m.do("Terminate", run)
}

func (m metric) GarbageCollect(run *v1alpha1.AnalysisRun, _ v1alpha1.Metric, _ int) error {
	return failure(m.ask(plugintest.Question{Method: "GarbageCollect", Of: run.Namespace + "/" + run.Name}))
}

func (m metric) GetMetadata(v1alpha1.Metric) map[string]string {
	return m.ask(plugintest.Question{Method: "GetMetadata"}).Metadata
}

type router struct{ script }

func (router) Init() error { return nil }

func (r router) do(method string, ro v1alpha1.Rollout, q plugintest.Question) plugintest.Answer {
	q.Method, q.Of, q.Max = method, ro.Namespace+"/"+ro.Name, 100
	if c := ro.Spec.Strategy.Canary; c != nil && c.TrafficRouting != nil {
		q.Config = c.TrafficRouting.Plugins["test/scripted"]
		if c.TrafficRouting.MaxTrafficWeight != nil {
			q.Max = *c.TrafficRouting.MaxTrafficWeight
		}
	}
	return r.ask(q)
}

func (r router) UpdateHash(a plugin.UpdateHashArgs) error {
	return failure(r.do("UpdateHash", a.Rollout, plugintest.Question{}))
}

func (r router) SetWeight(a plugin.SetWeightAndVerifyWeightArgs) error {
	return failure(r.do("SetWeight", a.Rollout, plugintest.Question{Weight: a.DesiredWeight, Additional: a.AdditionalDestinations}))
}

func (r router) SetHeaderRoute(a plugin.SetHeaderArgs) error {
	return failure(r.do("SetHeaderRoute", a.Rollout, plugintest.Question{Route: a.SetHeaderRoute.Name}))
}

func (r router) SetMirrorRoute(a plugin.SetMirrorArgs) error {
	return failure(r.do("SetMirrorRoute", a.Rollout, plugintest.Question{Route: a.SetMirrorRoute.Name}))
}

func (r router) VerifyWeight(a plugin.SetWeightAndVerifyWeightArgs) (plugin.Verified, error) {
	answer := r.do("VerifyWeight", a.Rollout, plugintest.Question{Weight: a.DesiredWeight, Additional: a.AdditionalDestinations})
	return plugin.Verified(answer.Verified), failure(answer)
}

func (r router) RemoveManagedRoutes(a plugin.RemoveManagedRoutesArgs) error {
	return failure(r.do("RemoveManagedRoutes", a.Rollout, plugintest.Question{}))
}
