package plugin_test

import (
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"net/rpc"
	"testing"

	goplugin "github.com/hashicorp/go-plugin"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/plugin"
	"github.com/sluice-delivery/sluice/api/v1alpha1"
	host "github.com/sluice-delivery/sluice/internal/plugin"
)

// What follows are the types of a plugin that was built in another year: they lack most of what ours have, and have what ours lack. Nothing of
// package api/plugin is used, so they stand for a binary that knows nothing of us.
type (
	OlderRollout struct {
		ObjectMeta struct{ Name, Namespace, ClusterName string }
		Spec       struct {
			Replicas                *int32
			TemplateResolvedFromRef bool
			Strategy                struct {
				Canary *struct {
					CanaryService  string
					RetiredService string
					TrafficRouting *struct {
						Plugins map[string]json.RawMessage
						Retired *struct{ Field string }
					}
				}
			}
		}
		Retired map[string]string
	}
	OlderSetWeight struct {
		Rollout       OlderRollout
		DesiredWeight int32
		Retired       []string
	}
	OlderError      struct{ ErrorString, Code string }
	OlderMetricArgs struct {
		AnalysisRun *struct {
			ObjectMeta struct{ Name string }
			Retired    int
		}
		Metric struct{ Name, Retired string }
	}
	OlderStepContext struct {
		PluginName string
		Config     []byte
		Retired    bool
	}
	OlderStepArgs struct {
		Rollout *OlderRollout
		Context *OlderStepContext
	}
	// OlderAnswer is that of either kind: fields that are empty do not travel.
	OlderAnswer struct {
		Phase, Value string
		Score        float64
		Result       struct{ Phase, Message, Retired string }
	}
)

// Older answers as such a plugin does.
type Older struct{}

// Server implements [goplugin.Plugin].
func (Older) Server(*goplugin.MuxBroker) (any, error) { return Older{}, nil }

// Client implements [goplugin.Plugin].
func (Older) Client(*goplugin.MuxBroker, *rpc.Client) (any, error) {
	return nil, errors.New("this side serves")
}

// InitPlugin has nothing to do.
func (Older) InitPlugin(_ any, _ *OlderError) error { return nil }

// SetWeight says what has arrived.
func (Older) SetWeight(args any, answer *OlderError) error {
	a, ok := args.(*OlderSetWeight)
	if !ok {
		return fmt.Errorf("invalid args %T", args)
	}
	canary := a.Rollout.Spec.Strategy.Canary
	answer.Code = "nobody reads this"
	answer.ErrorString = fmt.Sprintf("%s/%s replicas=%d weight=%d to %s by %s", a.Rollout.ObjectMeta.Namespace, a.Rollout.ObjectMeta.Name, *a.Rollout.Spec.Replicas,
		a.DesiredWeight, canary.CanaryService, canary.TrafficRouting.Plugins["example/older"])
	return nil
}

// Run is a measurement or a step.
func (Older) Run(args any, answer *OlderAnswer) error {
	switch a := args.(type) {
	case *OlderMetricArgs:
		answer.Phase, answer.Value, answer.Score = "Successful", a.Metric.Name+" of "+a.AnalysisRun.ObjectMeta.Name, 0.5
	case *OlderStepArgs:
		answer.Result.Phase, answer.Result.Message, answer.Result.Retired = "Running", string(a.Context.Config)+" for "+a.Rollout.ObjectMeta.Name, "x"
	default:
		return fmt.Errorf("invalid args %T", args)
	}
	return nil
}

func serveOlder(kind plugin.Kind) {
	for name, message := range map[string]any{"SetWeightAndVerifyWeightArgs": &OlderSetWeight{}, "RunArgs": &OlderMetricArgs{}, "step.RunArgs": &OlderStepArgs{}} {
		gob.RegisterName(name, message)
	}
	goplugin.Serve(&goplugin.ServeConfig{HandshakeConfig: kind.Handshake(), Plugins: goplugin.PluginSet{kind.Dispensed(): Older{}}})
}

// A plugin of each kind that was built against other types takes what both have, and answers with it: by the real handshake.
func TestOlderPlugins(t *testing.T) {
	s := newStage(t, "[]")
	const list = `[{name: example/older, location: SELF, args: [older]}]`
	s.configureAll(list)
	ro := v1alpha1.Rollout{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop", Labels: map[string]string{"a": "b"}}}
	ro.Spec.Replicas = new(int32(3))
	ro.Spec.Template.Spec.Containers = []corev1.Container{{Name: "web", Image: "web:1"}}
	ro.Spec.Strategy.Canary = &v1alpha1.CanaryStrategy{CanaryService: "web-canary", StableService: "web-stable", TrafficRouting: &v1alpha1.RolloutTrafficRouting{
		Plugins: map[string]json.RawMessage{"example/older": json.RawMessage(`{"a":1}`)},
	}}
	question := func(kind plugin.Kind, method string, args any) host.Question {
		return host.Question{ID: host.ID{Kind: kind, Name: "example/older"}, Tenant: "shop", Method: method, Args: args}
	}
	for _, weight := range []int32{0, 30} {
		said, err := host.Ask[plugin.RpcError](t.Context(), s.Host, question(plugin.TrafficRouter, "SetWeight", plugin.SetWeightAndVerifyWeightArgs{Rollout: ro, DesiredWeight: weight}))
		if want := fmt.Sprintf(`shop/web replicas=3 weight=%d to web-canary by {"a":1}`, weight); err != nil || said.ErrorString != want {
			t.Errorf("the router got %q, %v; want %q", said.ErrorString, err, want)
		}
	}
	run := &v1alpha1.AnalysisRun{ObjectMeta: metav1.ObjectMeta{Name: "run"}}
	measured, err := host.Ask[v1alpha1.Measurement](t.Context(), s.Host, question(plugin.MetricProvider, "Run", plugin.RunArgs{AnalysisRun: run, Metric: v1alpha1.Metric{Name: "errors"}}))
	if err != nil || measured.Phase != v1alpha1.AnalysisPhaseSuccessful || measured.Value != "errors of run" || measured.Metadata != nil {
		t.Errorf("measured %+v, %v", measured, err)
	}
	about := &plugin.StepContext{PluginName: "example/older", Config: []byte(`{"b":2}`), Status: []byte(`{}`)}
	done, err := host.Ask[plugin.StepResponse](t.Context(), s.Host, question(plugin.Step, "Run", plugin.StepRunArgs{Rollout: &ro, Context: about}))
	if err != nil || done.Result.Phase != "Running" || done.Result.Message != `{"b":2} for web` || done.Result.RequeueAfter != 0 {
		t.Errorf("the step answered %+v, %v", done, err)
	}
	if ill := s.Ill(); len(ill) != 0 {
		t.Errorf("ill are %q", ill)
	}
}
