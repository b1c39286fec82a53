package plugin

import (
	"encoding/gob"
	"sync"
	"time"

	goplugin "github.com/hashicorp/go-plugin"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// Kind is what a plugin does. Its text is what the cookie of the handshake says.
type Kind string

// The kinds of plugins.
const (
	TrafficRouter  Kind = "trafficrouter"
	MetricProvider Kind = "metricprovider"
	Step           Kind = "step"
)

// Dispensed is the name under which a plugin of this kind is asked for.
func (k Kind) Dispensed() string {
	return map[Kind]string{
		TrafficRouter: "RpcTrafficRouterPlugin", MetricProvider: "RpcMetricProviderPlugin", Step: "RpcStepPlugin",
	}[k]
}

// Handshake is how a plugin of this kind knows that it was started by a controller.
func (k Kind) Handshake() goplugin.HandshakeConfig {
	return goplugin.HandshakeConfig{ProtocolVersion: 1, MagicCookieKey: "ARGO_ROLLOUTS_RPC_PLUGIN", MagicCookieValue: string(k)}
}

// UpdateHashArgs are the versions that the Services select.
type UpdateHashArgs struct {
	Rollout                v1alpha1.Rollout
	CanaryHash             string
	StableHash             string
	AdditionalDestinations []v1alpha1.WeightDestination
}

// SetWeightAndVerifyWeightArgs are the weight of the canary, and those of an experiment's templates.
type SetWeightAndVerifyWeightArgs struct {
	Rollout                v1alpha1.Rollout
	DesiredWeight          int32
	AdditionalDestinations []v1alpha1.WeightDestination
}

// SetHeaderArgs are a header route. One without a match is to be removed.
type SetHeaderArgs struct {
	Rollout        v1alpha1.Rollout
	SetHeaderRoute v1alpha1.SetHeaderRoute
}

// SetMirrorArgs are a mirror route. One without a match is to be removed.
type SetMirrorArgs struct {
	Rollout        v1alpha1.Rollout
	SetMirrorRoute v1alpha1.SetMirrorRoute
}

// RemoveManagedRoutesArgs are the Rollout whose managed routes are to be removed, all of them.
type RemoveManagedRoutesArgs struct{ Rollout v1alpha1.Rollout }

// RunArgs ask for a measurement. The metric has the values of its arguments filled in.
type RunArgs struct {
	AnalysisRun *v1alpha1.AnalysisRun
	Metric      v1alpha1.Metric
}

// TerminateAndResumeArgs are a measurement that is under way.
type TerminateAndResumeArgs struct {
	AnalysisRun *v1alpha1.AnalysisRun
	Metric      v1alpha1.Metric
	Measurement v1alpha1.Measurement
}

// GarbageCollectArgs say how many measurements are kept.
type GarbageCollectArgs struct {
	AnalysisRun *v1alpha1.AnalysisRun
	Metric      v1alpha1.Metric
	Limit       int
}

// GetMetadataArgs ask what users should know of a metric.
type GetMetadataArgs struct{ Metric v1alpha1.Metric }

// StepContext is what a step plugin is given: its settings, and what it answered as its status the last time. Both are JSON.
type StepContext struct {
	PluginName string
	Config     []byte
	Status     []byte
}

// StepRunArgs ask a step plugin to do a step, or to continue with it.
type StepRunArgs struct {
	Rollout *v1alpha1.Rollout
	Context *StepContext
}

// StepTerminateArgs ask a step plugin to stop a step that is running.
type StepTerminateArgs struct {
	Rollout *v1alpha1.Rollout
	Context *StepContext
}

// StepAbortArgs ask a step plugin to undo a step.
type StepAbortArgs struct {
	Rollout *v1alpha1.Rollout
	Context *StepContext
}

// StepResult is how a step is doing.
type StepResult struct {
	// Phase is Running, Successful, Failed or Error.
	Phase   string
	Message string
	// RequeueAfter is when to ask again while Running; more than ten seconds, or it is half a minute.
	RequeueAfter time.Duration
	// Status is JSON that the plugin is given the next time.
	Status []byte
}

// StepResponse is the answer to all that a step plugin is asked.
type StepResponse struct {
	Result StepResult
	Error  RpcError
}

// Verified is whether a weight is in force.
type Verified int32

// The answers of VerifyWeight. A router that has not implemented it is believed when it says that it has set the weight.
const (
	NotVerified    Verified = 0
	IsVerified     Verified = 1
	NotImplemented Verified = 2
)

// VerifyWeightResponse is the answer to VerifyWeight.
type VerifyWeightResponse struct {
	Verified Verified
	Err      RpcError
}

// RpcError is an error as it travels; empty for none.
type RpcError struct{ ErrorString string } //nolint:revive // the name is the protocol's

func (e RpcError) Error() string { return e.ErrorString }

// failed is an error as it travels.
func failed(err error) RpcError {
	if err == nil {
		return RpcError{}
	}
	return RpcError{ErrorString: err.Error()}
}

// Register has gob know the messages under the names by which they travel.
var Register = sync.OnceFunc(func() {
	for name, message := range Messages() {
		gob.RegisterName(name, message)
	}
})

// Messages are those that travel under a name of their own.
func Messages() map[string]any {
	return map[string]any{
		"UpdateHashArgs":               new(UpdateHashArgs),
		"SetWeightAndVerifyWeightArgs": new(SetWeightAndVerifyWeightArgs),
		"SetHeaderArgs":                new(SetHeaderArgs),
		"SetMirrorArgs":                new(SetMirrorArgs),
		"RemoveManagedRoutesArgs":      new(RemoveManagedRoutesArgs),
		"RunArgs":                      new(RunArgs),
		"TerminateAndResumeArgs":       new(TerminateAndResumeArgs),
		"GarbageCollectArgs":           new(GarbageCollectArgs),
		"GetMetadataArgs":              new(GetMetadataArgs),
		"step.RunArgs":                 new(StepRunArgs),
		"step.TerminateArgs":           new(StepTerminateArgs),
		"step.AbortArgs":               new(StepAbortArgs),
		"RpcError":                     new(RpcError),
	}
}
