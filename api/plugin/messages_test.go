package plugin_test

import (
	"bytes"
	"encoding/gob"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/plugin"
	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// The names by which messages travel, and the names and kinds of their fields, are what plugins were built with.
func TestMessages(t *testing.T) {
	want := map[string]string{
		"UpdateHashArgs":               "Rollout struct, CanaryHash string, StableHash string, AdditionalDestinations slice",
		"SetWeightAndVerifyWeightArgs": "Rollout struct, DesiredWeight int32, AdditionalDestinations slice",
		"SetHeaderArgs":                "Rollout struct, SetHeaderRoute struct",
		"SetMirrorArgs":                "Rollout struct, SetMirrorRoute struct",
		"RemoveManagedRoutesArgs":      "Rollout struct",
		"RunArgs":                      "AnalysisRun ptr, Metric struct",
		"TerminateAndResumeArgs":       "AnalysisRun ptr, Metric struct, Measurement struct",
		"GarbageCollectArgs":           "AnalysisRun ptr, Metric struct, Limit int",
		"GetMetadataArgs":              "Metric struct",
		"step.RunArgs":                 "Rollout ptr, Context ptr",
		"step.TerminateArgs":           "Rollout ptr, Context ptr",
		"step.AbortArgs":               "Rollout ptr, Context ptr",
		"RpcError":                     "ErrorString string",
	}
	got := map[string]string{}
	for name, message := range plugin.Messages() {
		got[name] = fields(message)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("messages (-want +got):\n%s", d)
	}
	for of, c := range map[string]struct {
		message any
		want    string
	}{
		"the context of a step": {new(plugin.StepContext), "PluginName string, Config slice, Status slice"},
		"the result of a step":  {new(plugin.StepResult), "Phase string, Message string, RequeueAfter int64, Status slice"},
		"the answer of a step":  {new(plugin.StepResponse), "Result struct, Error struct"},
		"a verification":        {new(plugin.VerifyWeightResponse), "Verified int32, Err struct"},
		"a destination":         {new(v1alpha1.WeightDestination), "Weight int32, ServiceName string, PodTemplateHash string"},
		"a measurement": {
			new(v1alpha1.Measurement), "Phase string, Message string, StartedAt ptr, FinishedAt ptr, Value string, Metadata map, ResumeAt ptr",
		},
	} {
		if got := fields(c.message); got != c.want {
			t.Errorf("%s has\n%s, want\n%s", of, got, c.want)
		}
	}
	for _, c := range []struct {
		in    any
		field string
		kind  reflect.Kind
	}{
		{v1alpha1.DatadogMetric{}, "ApiVersion", reflect.String},
		{v1alpha1.CloudWatchMetricDataQuery{}, "Id", reflect.String},
		{v1alpha1.RolloutTrafficRouting{}, "Plugins", reflect.Map},
		{v1alpha1.MetricProvider{}, "Plugin", reflect.Map},
	} {
		field, ok := reflect.TypeOf(c.in).FieldByName(c.field)
		if !ok || field.Type.Kind() != c.kind {
			t.Errorf("%T has no field %s of kind %s", c.in, c.field, c.kind)
		}
	}
}

func fields(message any) string {
	of := reflect.TypeOf(message).Elem()
	var all []string
	for i := range of.NumField() {
		all = append(all, of.Field(i).Name+" "+of.Field(i).Type.Kind().String())
	}
	return strings.Join(all, ", ")
}

// A Rollout with all that a pod template may have can be sent, to a plugin whose types lack most of it, and have what ours lack.
func TestOlderTypes(t *testing.T) {
	plugin.Register()
	ro := v1alpha1.Rollout{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop", CreationTimestamp: metav1.Now()}}
	fill(reflect.ValueOf(&ro.Spec).Elem(), 6)
	fill(reflect.ValueOf(&ro.Status).Elem(), 6)
	var wire bytes.Buffer
	if err := gob.NewEncoder(&wire).Encode(plugin.SetWeightAndVerifyWeightArgs{Rollout: ro, DesiredWeight: 0}); err != nil {
		t.Fatal(err)
	}
	var older struct {
		Rollout struct {
			ObjectMeta struct{ Name, Namespace string }
			Spec       struct {
				TemplateResolvedFromRef bool
				Template                struct {
					Spec struct{ ServiceAccountName string }
				}
			}
		}
		DesiredWeight int32
	}
	if err := gob.NewDecoder(&wire).Decode(&older); err != nil {
		t.Fatal(err)
	}
	if older.Rollout.ObjectMeta.Name != "web" || older.Rollout.Spec.Template.Spec.ServiceAccountName == "" || older.DesiredWeight != 0 {
		t.Errorf("arrived: %+v", older)
	}
}

// fill gives all fields of a value something to send, that deep.
func fill(v reflect.Value, depth int) {
	if depth == 0 || !v.CanSet() {
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("text")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(7)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), depth-1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), depth-1)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), depth-1)
		}
	default:
	}
}
