//nolint:revive // net/rpc finds methods by their names; what they do is said at the interfaces
package plugin

import (
	"errors"
	"fmt"
	"net/rpc"

	goplugin "github.com/hashicorp/go-plugin"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// StepPlugin does a step of an update. Every call may come again with the same arguments: an answer can be lost.
type StepPlugin interface {
	Init() error
	Run(ro *v1alpha1.Rollout, c StepContext) (StepResult, error)
	Terminate(ro *v1alpha1.Rollout, c StepContext) (StepResult, error)
	Abort(ro *v1alpha1.Rollout, c StepContext) (StepResult, error)
}

// MetricPlugin measures. It says itself whether a measurement is a success.
type MetricPlugin interface {
	Init() error
	Run(run *v1alpha1.AnalysisRun, m v1alpha1.Metric) v1alpha1.Measurement
	Resume(run *v1alpha1.AnalysisRun, m v1alpha1.Metric, begun v1alpha1.Measurement) v1alpha1.Measurement
	Terminate(run *v1alpha1.AnalysisRun, m v1alpha1.Metric, begun v1alpha1.Measurement) v1alpha1.Measurement
	GarbageCollect(run *v1alpha1.AnalysisRun, m v1alpha1.Metric, limit int) error
	GetMetadata(m v1alpha1.Metric) map[string]string
}

// RouterPlugin splits traffic.
type RouterPlugin interface {
	Init() error
	UpdateHash(UpdateHashArgs) error
	SetWeight(SetWeightAndVerifyWeightArgs) error
	SetHeaderRoute(SetHeaderArgs) error
	SetMirrorRoute(SetMirrorArgs) error
	VerifyWeight(SetWeightAndVerifyWeightArgs) (Verified, error)
	RemoveManagedRoutes(RemoveManagedRoutesArgs) error
}

// ServeStep serves a step plugin until the controller ends it.
func ServeStep(p StepPlugin) { serve(Step, &stepServer{p}) }

// ServeMetric serves a metric plugin until the controller ends it.
func ServeMetric(p MetricPlugin) { serve(MetricProvider, &metricServer{p}) }

// ServeRouter serves a traffic-router plugin until the controller ends it.
func ServeRouter(p RouterPlugin) { serve(TrafficRouter, &routerServer{p}) }

func serve(kind Kind, server any) {
	Register()
	goplugin.Serve(&goplugin.ServeConfig{
		HandshakeConfig: kind.Handshake(), Plugins: goplugin.PluginSet{kind.Dispensed(): dispensed{server}},
	})
}

// dispensed has go-plugin serve something by net/rpc.
type dispensed struct{ server any }

func (d dispensed) Server(*goplugin.MuxBroker) (any, error) { return d.server, nil }

func (dispensed) Client(*goplugin.MuxBroker, *rpc.Client) (any, error) {
	return nil, errors.New("this side serves")
}

// taken is a message that travelled as an interface.
func taken[T any](message any) (T, error) {
	switch m := message.(type) {
	case *T:
		return *m, nil
	case T:
		return m, nil
	}
	var none T
	return none, fmt.Errorf("invalid args %T", message)
}

type stepServer struct{ plugin StepPlugin }

func (s *stepServer) InitPlugin(_ any, out *RpcError) error {
	*out = failed(s.plugin.Init())
	return nil
}

func (*stepServer) Type(_ any, out *string) error {
	*out = "RPCPlugin"
	return nil
}

func (s *stepServer) Run(args any, out *StepResponse) error {
	a, err := taken[StepRunArgs](args)
	if err != nil {
		return err
	}
	result, err := s.plugin.Run(a.Rollout, contextOf(a.Context))
	*out = StepResponse{Result: result, Error: failed(err)}
	return nil
}

func (s *stepServer) Terminate(args any, out *StepResponse) error {
	a, err := taken[StepTerminateArgs](args)
	if err != nil {
		return err
	}
	result, err := s.plugin.Terminate(a.Rollout, contextOf(a.Context))
	*out = StepResponse{Result: result, Error: failed(err)}
	return nil
}

func (s *stepServer) Abort(args any, out *StepResponse) error {
	a, err := taken[StepAbortArgs](args)
	if err != nil {
		return err
	}
	result, err := s.plugin.Abort(a.Rollout, contextOf(a.Context))
	*out = StepResponse{Result: result, Error: failed(err)}
	return nil
}

func contextOf(c *StepContext) StepContext {
	if c == nil {
		return StepContext{}
	}
	return *c
}

type metricServer struct{ plugin MetricPlugin }

func (s *metricServer) InitPlugin(_ any, out *RpcError) error {
	*out = failed(s.plugin.Init())
	return nil
}

func (*metricServer) Type(_ any, out *string) error {
	*out = "RPCPlugin"
	return nil
}

func (s *metricServer) Run(args any, out *v1alpha1.Measurement) error {
	a, err := taken[RunArgs](args)
	if err == nil {
		*out = s.plugin.Run(a.AnalysisRun, a.Metric)
	}
	return err
}

func (s *metricServer) Resume(args any, out *v1alpha1.Measurement) error {
	a, err := taken[TerminateAndResumeArgs](args)
	if err == nil {
		*out = s.plugin.Resume(a.AnalysisRun, a.Metric, a.Measurement)
	}
	return err
}

func (s *metricServer) Terminate(args any, out *v1alpha1.Measurement) error {
	a, err := taken[TerminateAndResumeArgs](args)
	if err == nil {
		*out = s.plugin.Terminate(a.AnalysisRun, a.Metric, a.Measurement)
	}
	return err
}

func (s *metricServer) GarbageCollect(args any, out *RpcError) error {
	a, err := taken[GarbageCollectArgs](args)
	if err == nil {
		*out = failed(s.plugin.GarbageCollect(a.AnalysisRun, a.Metric, a.Limit))
	}
	return err
}

func (s *metricServer) GetMetadata(args any, out *map[string]string) error {
	a, err := taken[GetMetadataArgs](args)
	if err == nil {
		*out = s.plugin.GetMetadata(a.Metric)
	}
	return err
}

type routerServer struct{ plugin RouterPlugin }

func (s *routerServer) InitPlugin(_ any, out *RpcError) error {
	*out = failed(s.plugin.Init())
	return nil
}

func (*routerServer) Type(_ any, out *string) error {
	*out = "RPCPlugin"
	return nil
}

func (s *routerServer) UpdateHash(args any, out *RpcError) error {
	return answered(args, out, s.plugin.UpdateHash)
}

func (s *routerServer) SetWeight(args any, out *RpcError) error {
	return answered(args, out, s.plugin.SetWeight)
}

func (s *routerServer) SetHeaderRoute(args any, out *RpcError) error {
	return answered(args, out, s.plugin.SetHeaderRoute)
}

func (s *routerServer) SetMirrorRoute(args any, out *RpcError) error {
	return answered(args, out, s.plugin.SetMirrorRoute)
}

func (s *routerServer) RemoveManagedRoutes(args any, out *RpcError) error {
	return answered(args, out, s.plugin.RemoveManagedRoutes)
}

func (s *routerServer) VerifyWeight(args any, out *VerifyWeightResponse) error {
	a, err := taken[SetWeightAndVerifyWeightArgs](args)
	if err != nil {
		return err
	}
	verified, err := s.plugin.VerifyWeight(a)
	*out = VerifyWeightResponse{Verified: verified, Err: failed(err)}
	return nil
}

// answered does what a message asks for.
func answered[T any](args any, out *RpcError, do func(T) error) error {
	a, err := taken[T](args)
	if err == nil {
		*out = failed(do(a))
	}
	return err
}
