package analysis

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/spec"
)

type (
	ref      = v1alpha1.AnalysisTemplateRef
	tmpl     = v1alpha1.AnalysisTemplateSpec
	argument = v1alpha1.Argument
	given    = v1alpha1.AnalysisRunArgument
)

// smoke and load are templates of the namespace, shared one of the cluster.
var (
	smoke  = ref{TemplateName: "smoke"}
	load   = ref{TemplateName: "load"}
	shared = ref{TemplateName: "smoke", ClusterScope: true}
)

func metrics(names ...string) []v1alpha1.Metric {
	all := make([]v1alpha1.Metric, len(names))
	for i, name := range names {
		all[i] = v1alpha1.Metric{Name: name, Provider: v1alpha1.MetricProvider{Web: &v1alpha1.WebMetric{URL: "https://test"}}}
	}
	return all
}

func plain(name, value string) argument { return argument{Name: name, Value: &value} }

func secret(name string) argument {
	return argument{Name: name, ValueFrom: &v1alpha1.ValueFrom{SecretKeyRef: &v1alpha1.SecretKeyRef{Name: "tokens", Key: "token"}}}
}

func field(path string) *v1alpha1.FieldRef { return &v1alpha1.FieldRef{FieldPath: path} }

func rollout() *v1alpha1.Rollout {
	return &v1alpha1.Rollout{ObjectMeta: metav1.ObjectMeta{
		Name: "web", Namespace: "shop", UID: "u", Labels: map[string]string{"region": "north", "a.b/c": "x"},
	}}
}

// using is an analysis of templates.
func using(refs ...ref) v1alpha1.RolloutAnalysis { return v1alpha1.RolloutAnalysis{Templates: refs} }

func withArgs(a v1alpha1.RolloutAnalysis, args ...given) v1alpha1.RolloutAnalysis {
	a.Args = args
	return a
}

// summary is what matters of a run: the names of its metrics and its arguments.
type summary struct {
	Metrics  []string
	Args     []argument
	Problems []string
}

func run(a v1alpha1.RolloutAnalysis, known Templates) summary {
	made, problems := Run(spec.Analysis{RolloutAnalysis: a, Field: "f"}, known, Source{Rollout: rollout(), Stable: "old", Latest: "new"})
	var s summary
	for _, p := range problems {
		s.Problems = append(s.Problems, p.String())
	}
	if len(problems) > 0 {
		return s
	}
	for i := range made.Metrics {
		s.Metrics = append(s.Metrics, made.Metrics[i].Name)
	}
	s.Args = made.Args
	return s
}

func TestTemplatesBecomeOneRun(t *testing.T) {
	for name, c := range map[string]struct {
		analysis v1alpha1.RolloutAnalysis
		known    Templates
		want     summary
	}{
		"depth first, and each once": {
			using(smoke, load),
			Templates{smoke: {Metrics: metrics("a"), Templates: []ref{shared, load}}, shared: {Metrics: metrics("b"), Templates: []ref{load}}, load: {Metrics: metrics("c")}},
			summary{Metrics: []string{"a", "b", "c"}},
		},
		"the same name in the namespace and in the cluster is two templates": {
			using(smoke, shared), Templates{smoke: {Metrics: metrics("a")}, shared: {Metrics: metrics("b")}}, summary{Metrics: []string{"a", "b"}},
		},
		"a template that is named twice counts once": {
			using(smoke, smoke), Templates{smoke: {Metrics: metrics("a")}}, summary{Metrics: []string{"a"}},
		},
		"none of that name": {
			using(smoke, shared),
			Templates{smoke: {Metrics: metrics("a")}},
			summary{Problems: []string{`f.templates[1].templateName: ClusterAnalysisTemplate "smoke" not found: create it, or name one that exists`}},
		},
		"none of the name in a template": {
			using(smoke),
			Templates{smoke: {Templates: []ref{load}}},
			summary{Problems: []string{`f.templates[0].templateName: AnalysisTemplate "load", which AnalysisTemplate "smoke" names, not found: create it, or name one that exists`}},
		},
		"a circle": {
			using(smoke),
			Templates{smoke: {Metrics: metrics("a"), Templates: []ref{load}}, load: {Templates: []ref{smoke}}},
			summary{Problems: []string{`f.templates[0].templateName: AnalysisTemplate "smoke" names itself: smoke → load → smoke; take one of these references out`}},
		},
		"the smallest circle, behind another template": {
			using(smoke),
			Templates{smoke: {Metrics: metrics("a"), Templates: []ref{load}}, load: {Templates: []ref{load}}},
			summary{Problems: []string{`f.templates[0].templateName: AnalysisTemplate "load" names itself: load → load; take one of these references out`}},
		},
		"two metrics of one name": {
			using(smoke, load),
			Templates{smoke: {Metrics: metrics("a")}, load: {Metrics: metrics("a")}},
			summary{Problems: []string{`f.templates: metric "a" is in AnalysisTemplate "smoke" and in AnalysisTemplate "load": rename one of the two`}},
		},
		"no metric anywhere": {
			using(smoke),
			Templates{smoke: {}},
			summary{Problems: []string{`f.templates: there is no metric in any of the templates: give one of them metrics`}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, run(c.analysis, c.known)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestC48Arguments(t *testing.T) {
	latest, stable := v1alpha1.ValueFromLatest, v1alpha1.ValueFromStable
	of := func(args ...argument) tmpl { return tmpl{Metrics: metrics("a"), Args: args} }
	also := func(args ...argument) tmpl { return tmpl{Metrics: metrics("b"), Args: args} }
	for name, c := range map[string]struct {
		analysis    v1alpha1.RolloutAnalysis
		first       tmpl
		other       *tmpl
		want        []argument
		wantTrouble string
	}{
		"a template's own value": {using(smoke), of(plain("x", "1")), nil, []argument{plain("x", "1")}, ""},
		"the Rollout's value takes its place": {
			withArgs(using(smoke), given{Name: "x", Value: "2"}), of(plain("x", "1")), nil, []argument{plain("x", "2")}, "",
		},
		"an empty value is a value": {withArgs(using(smoke), given{Name: "x"}), of(plain("x", "1")), nil, []argument{plain("x", "")}, ""},
		"a plain value takes the place of a Secret's": {
			withArgs(using(smoke), given{Name: "x", Value: "2"}), of(secret("x")), nil, []argument{plain("x", "2")}, "",
		},
		"a Secret is left to the measurer": {using(smoke), of(secret("x")), nil, []argument{secret("x")}, ""},
		"hashes of the two versions": {
			withArgs(using(smoke), given{Name: "x", ValueFrom: &v1alpha1.ArgumentValueFrom{PodTemplateHashValue: &latest}},
				given{Name: "y", ValueFrom: &v1alpha1.ArgumentValueFrom{PodTemplateHashValue: &stable}}),
			of(argument{Name: "x"}, argument{Name: "y"}), nil,
			[]argument{plain("x", "new"), plain("y", "old")},
			"",
		},
		"a field of the Rollout": {
			withArgs(using(smoke), given{Name: "x", ValueFrom: &v1alpha1.ArgumentValueFrom{FieldRef: field("metadata.labels['region']")}}),
			of(argument{Name: "x"}), nil,
			[]argument{plain("x", "north")},
			"",
		},
		"a field of the Rollout that the template names": {
			using(smoke), of(argument{Name: "x", ValueFrom: &v1alpha1.ValueFrom{FieldRef: field("metadata.name")}}), nil, []argument{plain("x", "web")}, "",
		},
		"a label that is not there is empty": {
			withArgs(using(smoke), given{Name: "x", ValueFrom: &v1alpha1.ArgumentValueFrom{FieldRef: field("metadata.labels['zone']")}}),
			of(argument{Name: "x"}), nil,
			[]argument{plain("x", "")},
			"",
		},
		"what no template asks for is left out": {
			withArgs(using(smoke), given{Name: "z", Value: "2"}), of(plain("x", "1")), nil, []argument{plain("x", "1")}, "",
		},
		"nobody has a value": {
			using(smoke), of(argument{Name: "x"}), nil, nil, `f.args: args.x was not resolved: AnalysisTemplate "smoke" has no value for it, so write one here`,
		},
		"the first value of several templates": {
			using(smoke, load), of(argument{Name: "x"}), new(also(plain("x", "1"))), []argument{plain("x", "1")}, "",
		},
		"the same value twice": {using(smoke, load), of(plain("x", "1")), new(also(plain("x", "1"))), []argument{plain("x", "1")}, ""},
		"two values": {
			using(smoke, load), of(plain("x", "1")), new(also(plain("x", "2"))), nil,
			`f.templates: argument "x" has one value in AnalysisTemplate "smoke" and another in AnalysisTemplate "load": give it the same value in both, or none in one of them`,
		},
		"a value and a Secret": {
			using(smoke, load), of(plain("x", "1")), new(also(secret("x"))), nil,
			`f.templates: argument "x" has one value in AnalysisTemplate "smoke" and another in AnalysisTemplate "load": give it the same value in both, or none in one of them`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			known := Templates{smoke: &c.first}
			if c.other != nil {
				known[load] = c.other
			}
			got := run(c.analysis, known)
			if diff := cmp.Diff(c.want, got.Args); diff != "" {
				t.Errorf("arguments (-want +got):\n%s", diff)
			}
			trouble := ""
			if len(got.Problems) > 0 {
				trouble = got.Problems[0]
			}
			if trouble != c.wantTrouble {
				t.Errorf("problem %q, want %q", trouble, c.wantTrouble)
			}
		})
	}
}

// Templates come from a cache that others read too.
func TestTemplatesAreLeftAsTheyAre(t *testing.T) {
	template := tmpl{Metrics: metrics("a"), Args: []argument{secret("x"), {Name: "y"}}}
	before := template.DeepCopy()
	made, _ := Run(spec.Analysis{RolloutAnalysis: withArgs(using(smoke), given{Name: "x", Value: "1"}, given{Name: "y", Value: "2"})},
		Templates{smoke: &template}, Source{Rollout: rollout()})
	made.Metrics[0].Provider.Web.URL = "changed"
	if diff := cmp.Diff(before, &template); diff != "" {
		t.Errorf("the template was changed (-before +after):\n%s", diff)
	}
}

// An argument that is empty because a label is not there holds nothing up, and is warned of.
func TestAnAbsentLabelIsWarnedOf(t *testing.T) {
	asks := Templates{smoke: {Metrics: metrics("a"), Args: []argument{{Name: "x"}}}}
	for path, want := range map[string]string{
		"metadata.labels['region']":    "",
		"metadata.labels['zone']":      `f.args: argument "x": fieldRef "metadata.labels['zone']": the Rollout has no label "zone", so the argument is empty: add it, or name another`,
		"metadata.annotations['team']": `f.args: argument "x": fieldRef "metadata.annotations['team']": the Rollout has no annotation "team", so the argument is empty: add it, or name another`,
	} {
		a := spec.Analysis{
			RolloutAnalysis: withArgs(using(smoke), given{Name: "x", ValueFrom: &v1alpha1.ArgumentValueFrom{FieldRef: field(path)}}),
			Field:           "f",
		}
		if problems := Check(a, asks, rollout()); len(problems) > 0 {
			t.Errorf("%s: problems %v", path, problems)
		}
		got := ""
		for _, w := range Warn(a, asks, rollout()) {
			got += w.String()
		}
		if got != want {
			t.Errorf("%s: warning %q, want %q", path, got, want)
		}
	}
}

// What only a running update knows is no problem before it runs.
func TestCheckIsEarly(t *testing.T) {
	asks := Templates{smoke: {Metrics: metrics("a"), Args: []argument{{Name: "x"}}}}
	for path, want := range map[string]int{"status.alb.canaryTargetGroup.fullName": 0, "metadata.generation": 1} {
		a := withArgs(using(smoke), given{Name: "x", ValueFrom: &v1alpha1.ArgumentValueFrom{FieldRef: field(path)}})
		if got := Check(spec.Analysis{RolloutAnalysis: a}, asks, rollout()); len(got) != want {
			t.Errorf("%s: problems %v, want %d", path, got, want)
		}
		if got := run(a, asks).Problems; len(got) != 1 {
			t.Errorf("%s: problems %v when it is run, want one", path, got)
		}
	}
}

// What templates say of metrics by their names is in the run, in the order of the templates, and then what the Rollout says.
func TestTemplatesBringDryRunsAndRetention(t *testing.T) {
	dry := func(name string) []v1alpha1.DryRun { return []v1alpha1.DryRun{{MetricName: name}} }
	keep := func(name string, limit int32) []v1alpha1.MeasurementRetention {
		return []v1alpha1.MeasurementRetention{{MetricName: name, Limit: limit}}
	}
	a := using(smoke, load)
	a.DryRun, a.MeasurementRetention = dry("c"), keep("c", 3)
	known := Templates{
		smoke: {Metrics: metrics("a", "c"), DryRun: dry("a"), MeasurementRetention: keep("a", 1)},
		load:  {Metrics: metrics("b"), DryRun: dry("b"), MeasurementRetention: keep("b", 2)},
	}
	run, problems := Run(spec.Analysis{RolloutAnalysis: a, Field: "f"}, known, Source{Rollout: rollout(), Stable: "old", Latest: "new"})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if diff := cmp.Diff(append(append(dry("a"), dry("b")...), dry("c")...), run.DryRun); diff != "" {
		t.Errorf("dry runs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(append(append(keep("a", 1), keep("b", 2)...), keep("c", 3)...), run.MeasurementRetention); diff != "" {
		t.Errorf("retention (-want +got):\n%s", diff)
	}
}

// A ClusterAnalysisTemplate that the controller may not read is a problem with its remedy, and the other templates are read all the same.
func TestATemplateThatMayNotBeRead(t *testing.T) {
	a := spec.Analysis{Field: "analysis", RolloutAnalysis: using(shared, smoke)}
	problems := Check(a, Templates{shared: nil, smoke: {Metrics: metrics("errors")}}, rollout())
	if len(problems) != 1 || !strings.Contains(problems[0].Text, "cannot be read: the controller manages one namespace") {
		t.Errorf("the problems are %v", problems)
	}
}

// A golden signal gets what its target leaves out from the Rollout that is measured.
func TestGoldenSignalsAreOfTheRollout(t *testing.T) {
	signal := metrics("success")
	signal[0].Provider = v1alpha1.MetricProvider{Prometheus: &v1alpha1.PrometheusMetric{Address: "https://test"}}
	signal[0].Golden, signal[0].GoldenTarget = v1alpha1.GoldenRequestSuccessRate, &v1alpha1.GoldenTarget{Router: v1alpha1.GoldenIstio}
	ro := rollout()
	ro.Spec.Strategy.Canary = &v1alpha1.CanaryStrategy{CanaryService: "web-canary", StableService: "web-stable"}
	made, problems := Run(spec.Analysis{RolloutAnalysis: using(smoke), Field: "f"}, Templates{smoke: {Metrics: signal}}, Source{Rollout: ro, Stable: "old", Latest: "new"})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if got := made.Metrics[0].GoldenTarget; got.Namespace != "shop" || got.Canary != "web-canary" || got.Stable != "web-stable" {
		t.Errorf("the target is %+v", got)
	}
	if signal[0].GoldenTarget.Namespace != "" {
		t.Error("the template itself is filled in, which a cache shares")
	}
}
