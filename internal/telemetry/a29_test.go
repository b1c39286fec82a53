package telemetry

import (
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
)

// upstreams are the metrics that dashboards and alerts for Argo Rollouts query, with their labels. Notifications are not here:
// none are sent.
var upstreams = map[string]string{
	"rollout_info":                           "namespace,name,strategy,traffic_router,phase",
	"rollout_info_replicas_available":        "namespace,name",
	"rollout_info_replicas_unavailable":      "namespace,name",
	"rollout_info_replicas_desired":          "namespace,name",
	"rollout_info_replicas_updated":          "namespace,name",
	"rollout_phase":                          "namespace,name,strategy,phase",
	"rollout_reconcile":                      "namespace,name",
	"rollout_reconcile_error":                "namespace,name",
	"rollout_events_total":                   "namespace,name,type,reason",
	"rollout_duration_seconds":               "status",
	"rollout_progression_duration_seconds":   "status",
	"rollout_manual_pause_duration_seconds":  "status",
	"analysis_run_info":                      "namespace,name,phase",
	"analysis_run_phase":                     "namespace,name,phase",
	"analysis_run_metric_phase":              "namespace,name,metric,type,dry_run,phase",
	"analysis_run_metric_type":               "namespace,name,metric,type",
	"analysis_run_reconcile":                 "namespace,name",
	"analysis_run_reconcile_error":           "namespace,name",
	"analysis_template_info":                 "namespace,name",
	"analysis_template_metric_info":          "namespace,name,type,metric",
	"experiment_info":                        "namespace,name,phase",
	"experiment_phase":                       "namespace,name,phase",
	"experiment_reconcile":                   "namespace,name",
	"experiment_reconcile_error":             "namespace,name",
	"controller_clientset_k8s_request_total": "kind,namespace,name,verb,status_code",
	"argo_rollouts_controller_info":          "version,goversion,goarch",
	"build_info":                             "version,goversion,goarch",
}

// own are those that only this controller has. None tells objects apart of which each update makes new ones.
var own = map[string]string{
	"sluice_reaction_seconds":  "kind",
	"sluice_rollouts_waiting":  "reason",
	"sluice_events_lost_total": "namespace",

	"sluice_plugin_running":        "kind,plugin",
	"sluice_plugin_starts_total":   "kind,plugin",
	"sluice_plugin_failures_total": "kind,plugin",

	"sluice_analysis_metric_value": "namespace,owner_kind,owner,metric",
}

// descriptions keep what is registered.
type descriptions struct {
	prometheus.Registerer
	labels map[string]string
}

// described finds the name and the labels in the text of a description, which has no other way to tell them.
var described = regexp.MustCompile(`fqName: "([^"]*)".*variableLabels: \{([^}]*)\}`)

func (d descriptions) MustRegister(collectors ...prometheus.Collector) {
	for _, c := range collectors {
		all := make(chan *prometheus.Desc)
		go func() {
			defer close(all)
			c.Describe(all)
		}()
		for description := range all {
			found := described.FindStringSubmatch(description.String())
			d.labels[found[1]] = found[2]
		}
	}
}

// Each metric of Argo Rollouts exists under its name with its labels, and there is no other except our own.
func TestA29Metrics(t *testing.T) {
	d := descriptions{labels: map[string]string{}}
	New(d, false)
	d.MustRegister(NewPlugins(nil))
	d.MustRegister(NewObjects(nil, nil, true, slog.New(slog.DiscardHandler)))
	want := map[string]string{}
	for _, metrics := range []map[string]string{upstreams, own} {
		for name, labels := range metrics {
			want[name] = labels
		}
	}
	if diff := cmp.Diff(want, d.labels); diff != "" {
		t.Errorf("metrics and their labels (-want +got):\n%s", diff)
	}
	for name, labels := range own {
		if slices.Contains(strings.Split(labels, ","), "name") {
			t.Errorf("%s has a series for each object", name)
		}
	}
}
