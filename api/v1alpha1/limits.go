package v1alpha1

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
)

// limits is how many items a list may have, and how many entries a map, by type and field. The CRDs say the same
// (TestLimitsAreThoseOfTheCRDs). They are here as well because stored objects may be older than the CRDs, or may have
// bypassed them, and the longest lists of a spec determine how long a reconcile takes.
var limits = map[string]int{
	"AnalysisRunSpec.Args":                          200,
	"AnalysisRunSpec.DryRun":                        100,
	"AnalysisRunSpec.MeasurementRetention":          100,
	"AnalysisRunSpec.Metrics":                       100,
	"AnalysisTemplateSpec.Args":                     200,
	"AnalysisTemplateSpec.DryRun":                   100,
	"AnalysisTemplateSpec.MeasurementRetention":     100,
	"AnalysisTemplateSpec.Metrics":                  100,
	"AnalysisTemplateSpec.Templates":                100,
	"CanaryStrategy.Steps":                          500,
	"CloudWatchMetric.MetricDataQueries":            100,
	"Comparison.Groups":                             20,
	"Comparison.Signals":                            20,
	"CustomTrafficRouting.Fields":                   10,
	"CustomTrafficRouting.Weights":                  10,
	"DatadogMetric.Queries":                         50,
	"ElasticsearchMetric.Headers":                   100,
	"ExperimentAnalysisTemplateRef.Args":            100,
	"ExperimentSpec.Analyses":                       50,
	"ExperimentSpec.DryRun":                         100,
	"ExperimentSpec.MeasurementRetention":           100,
	"ExperimentSpec.Templates":                      50,
	"GatewayAPITrafficRouting.GRPCRoutes":           50,
	"GatewayAPITrafficRouting.HTTPRoutes":           50,
	"GatewayAPITrafficRouting.TCPRoutes":            50,
	"GatewayAPITrafficRouting.TLSRoutes":            50,
	"GoogleConfig.Scopes":                           100,
	"IstioTrafficRouting.VirtualServices":           50,
	"LokiMetric.Headers":                            100,
	"MetricProvider.Plugin":                         1,
	"NginxTrafficRouting.StableIngresses":           50,
	"OAuth2Config.Scopes":                           100,
	"PrometheusMetric.Headers":                      100,
	"RolloutAnalysis.Args":                          100,
	"RolloutAnalysis.DryRun":                        100,
	"RolloutAnalysis.MeasurementRetention":          100,
	"RolloutAnalysis.Templates":                     100,
	"RolloutExperimentStep.Analyses":                20,
	"RolloutExperimentStep.DryRun":                  100,
	"RolloutExperimentStep.Templates":               20,
	"RolloutExperimentStepAnalysisTemplateRef.Args": 50,
	"RolloutTrafficRouting.Custom":                  10,
	"RolloutTrafficRouting.ManagedRoutes":           50,
	"RouteMatch.Headers":                            16,
	"SetHeaderRoute.Match":                          20,
	"SetMirrorRoute.Match":                          10,
	"WebMetric.Headers":                             100,
}

// limited are the fields of a type that have a limit, or lead to fields that have one.
type limited struct {
	index int
	// name is that of the JSON, empty for what is inlined.
	name  string
	limit int
	inner reflect.Type
}

// limitedFields caches what reflection found, by type: objects are decoded often.
var limitedFields sync.Map

// withinLimits empties the lists and maps of an object that exceed their limits, and returns them as unreadable.
func withinLimits(object any) Unreadable {
	var found Unreadable
	emptyExcess(nil, reflect.ValueOf(object), &found)
	return found
}

func emptyExcess(at *place, v reflect.Value, found *Unreadable) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			emptyExcess(at, v.Elem(), found)
		}
	case reflect.Slice:
		for i := range v.Len() {
			emptyExcess(&place{parent: at, index: i}, v.Index(i), found)
		}
	case reflect.Struct:
		for _, f := range limitedIn(v.Type()) {
			field, below := v.Field(f.index), at
			if f.name != "" {
				below = &place{parent: at, field: f.name}
			}
			if f.limit > 0 && field.Len() > f.limit {
				if len(found.Of(below.top())) < mostUnreadable {
					*found = append(*found, UnreadableField{below.String(), fmt.Sprintf("has %d %s, and may have %d: take some out", field.Len(), itemsOf(field), f.limit)})
				}
				field.SetZero()
			}
			if f.inner != nil {
				emptyExcess(below, field, found)
			}
		}
	default: // leads nowhere
	}
}

func itemsOf(v reflect.Value) string {
	if v.Kind() == reflect.Map {
		return "entries"
	}
	return "items"
}

// limitedIn are the fields of a struct of this package that matter here.
func limitedIn(t reflect.Type) []limited {
	if have, ok := limitedFields.Load(t); ok {
		return have.([]limited)
	}
	var fields []limited
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" || !f.IsExported() {
			continue
		}
		if strings.Contains(options, "inline") {
			name = ""
		}
		field := limited{index: i, name: name, limit: limits[t.Name()+"."+f.Name]}
		if inner := structOf(f.Type); inner != nil && len(limitedIn(inner)) > 0 {
			field.inner = inner
		}
		if field.limit > 0 || field.inner != nil {
			fields = append(fields, field)
		}
	}
	limitedFields.Store(t, fields)
	return fields
}

// structOf returns the struct of this package that a field holds, points to or lists; nil if there is none.
func structOf(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || t.PkgPath() != reflect.TypeFor[Rollout]().PkgPath() {
		return nil
	}
	return t
}
