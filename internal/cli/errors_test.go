package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	k8stesting "k8s.io/client-go/testing"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

var getOptions = metav1.GetOptions{}

func replacer(pairs ...string) func(string) string { return strings.NewReplacer(pairs...).Replace }

// noSuchPage is the answer of an API server that does not know the path.
func noSuchPage(resource, name string) error {
	return apierrors.NewGenericServerResponse(404, "get", v1alpha1.Resource(resource), name, "404 page not found", 0, true)
}

// Every error is one line that says what to do; nothing is written, and nothing is printed as if it were a result.
func TestErrors(t *testing.T) {
	tests := map[string]struct {
		args []string
		want string
	}{
		"no such rollout, but one near":  {[]string{"promote", "wbe"}, "there is no rollout 'wbe' in namespace 'shop'; did you mean 'web'?"},
		"no such rollout and none near":  {[]string{"get", "rollout", "checkout"}, "there is no rollout 'checkout' in namespace 'shop': is it in another one (-n)?"},
		"status of none":                 {[]string{"status", "web2"}, "there is no rollout 'web2' in namespace 'shop'; did you mean 'web'?"},
		"abort of none":                  {[]string{"abort", "webb"}, "there is no rollout 'webb' in namespace 'shop'; did you mean 'web'?"},
		"no name":                        {[]string{"promote"}, "which rollout? Give its name: sluice promote NAME"},
		"two names for one":              {[]string{"status", "a", "b"}, `sluice status takes one name, not ["a" "b"]`},
		"command that does not exist":    {[]string{"promot", "web"}, `unknown command "promot" for "sluice"; did you mean promote?`},
		"subcommand that does not exist": {[]string{"get", "rolout", "web"}, `unknown command "rolout" for "sluice get"; did you mean rollout?`},
		"subcommand missing":             {[]string{"set"}, "sluice set what? See 'sluice set --help'"},
		"flag that does not exist":       {[]string{"promote", "web", "--ful"}, `unknown flag "--ful" for "sluice promote"; did you mean --full?`},
		"flags that exclude each other":  {[]string{"promote", "web", "--full", "-c"}, "--full skips all steps already: leave the other flag out"},
		"container that does not exist": {
			[]string{"set", "image", "web", "nginx=nginx:2", "ngnix=nginx:2"},
			"rollout 'web' has no container 'ngnix'; it has migrate, nginx, proxy. Nothing was changed",
		},
		"image without container":      {[]string{"set", "image", "web", "nginx:2"}, `"nginx:2" is not CONTAINER=IMAGE`},
		"no image":                     {[]string{"set", "image", "web"}, "which image? Write sluice set image NAME CONTAINER=IMAGE"},
		"revision that does not exist": {[]string{"undo", "web", "--to-revision", "7"}, "rollout 'web' has no revision 7; it has 2, 1"},
		"workload that does not exist": {
			[]string{"set", "image", "ref", "nginx=nginx:2"},
			`deployment 'gone', from which rollout 'ref' takes its template: deployments.apps "gone" not found`,
		},
		"degraded":                       {[]string{"status", "bad"}, "rollout 'bad' is degraded: RolloutAborted: no"},
		"not done in time":               {[]string{"status", "web", "--timeout", "1ns"}, "rollout 'web' was not done after 1ns: "},
		"no steps to skip in blue-green": {[]string{"promote", "blue", "-c"}, "rollout 'blue' is not a canary, so it has no steps to skip"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			blue := `{apiVersion: argoproj.io/v1alpha1, kind: Rollout, metadata: {name: blue}, spec: {strategy: {blueGreen: {activeService: a}}}}`
			c := newCluster(t, web("", midStep), rollout("bad", "", fieldsOf(aborted)), blue,
				rollout("ref", "  workloadRef: {kind: Deployment, name: gone}", fieldsOf(promoted)), replicaSet("a", 1), replicaSet("b", 2))
			r := c.run(t.Context(), tt.args...)
			expectError(t, r, tt.want)
			if writes := c.writes(); tt.args[0] != "abort" && len(writes) > 0 {
				t.Errorf("something was written: %s", writes)
			}
		})
	}
}

// expectError checks that a command failed with one line that begins so, after warnings if there are any.
func expectError(t *testing.T, r result, want string) {
	t.Helper()
	if r.code != 1 {
		t.Errorf("exit code %d", r.code)
	}
	got := r.err[strings.LastIndex("\n"+strings.TrimSuffix(r.err, "\n"), "\n"):]
	if !strings.HasPrefix(got, "error: "+want) || strings.Count(got, "\n") != 1 {
		t.Errorf("got  %qwant %q", got, "error: "+want)
	}
}

// One name that is wrong does not keep a command from the others.
func TestErrorsOfSome(t *testing.T) {
	c := newCluster(t, web("", midStep))
	r := c.run(t.Context(), "pause", "wbe", "web", "checkout")
	want := result{code: 1, out: "rollout 'web' paused\n", err: "error: there is no rollout 'wbe' in namespace 'shop'; did you mean 'web'?\n" +
		"error: there is no rollout 'checkout' in namespace 'shop': is it in another one (-n)?\n"}
	if diff := cmp.Diff(want, r, cmp.AllowUnexported(result{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWithoutCRDs(t *testing.T) {
	for _, args := range [][]string{{"get", "rollout", "web"}, {"list", "rollouts"}, {"abort", "web"}, {"status", "web"}, {"set", "image", "web", "a=b"}} {
		c := newCluster(t)
		c.PrependReactor("*", "*", func(k8stesting.Action) (bool, runtime.Object, error) { return true, nil, noSuchPage("rollouts", "web") })
		r := c.run(t.Context(), args...)
		want := "error: this cluster does not know Rollouts: its CRDs are missing. Install them with: kubectl apply -f config/crd\n"
		if diff := cmp.Diff(want, r.err); diff != "" || r.code != 1 {
			t.Errorf("%s: exit code %d (-want +got):\n%s", args, r.code, diff)
		}
	}
}

// Under each of its names the program says what users have to type.
func TestNames(t *testing.T) {
	for program, want := range map[string]string{
		"/usr/bin/sluice":                      "sluice promote web",
		"/usr/bin/kubectl-argo-rollouts":       "kubectl argo rollouts promote web",
		"C:kubectl-sluice.exe":                 "",
		"/usr/bin/kubectl-sluice":              "kubectl sluice promote web",
		"/usr/bin/anything":                    "sluice promote web",
		"/usr/bin/kubectl-argo-rollouts.exe":   "kubectl argo rollouts promote web",
		"/usr/bin/kubectl_complete-sluice.exe": "",
	} {
		var out, errs bytes.Buffer
		code := Run(t.Context(), []string{program, "promote", "--help"}, Streams{Out: &out, Err: &errs})
		if code != 0 || !strings.Contains(out.String(), want) {
			t.Errorf("%s: exit code %d, %s%s", program, code, out.String(), errs.String())
		}
	}
}

func TestCompletion(t *testing.T) {
	c := newCluster(t, web("", midStep), rollout("worker", "", fieldsOf(midStep)), replicaSet("a", 1), replicaSet("b", 2),
		"{apiVersion: v1, kind: Namespace, metadata: {name: shop}}", "{apiVersion: v1, kind: Namespace, metadata: {name: till}}")
	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"names":                       {[]string{"promote", "w"}, "web\nworker\n"},
		"names not given":             {[]string{"abort", "web", "w"}, "worker\n"},
		"one name only":               {[]string{"status", "web", ""}, ""},
		"containers":                  {[]string{"set", "image", "web", ""}, "migrate=\nnginx=\nproxy=\n"},
		"container's image":           {[]string{"set", "image", "web", "ng"}, "nginx=\n"},
		"images of revisions":         {[]string{"set", "image", "web", "nginx="}, "nginx=nginx:b\nnginx=nginx:a\n"},
		"one image":                   {[]string{"set", "image", "web", "nginx=nginx:a"}, "nginx=nginx:a\n"},
		"revisions, the newest first": {[]string{"undo", "web", "--to-revision", ""}, "2\tnginx:b\n1\tnginx:a\n"},
		"revisions of the history":    {[]string{"history", "web", "--revision", "2"}, "2\tnginx:b\n"},
		"revisions of nothing":        {[]string{"undo", "--to-revision", ""}, ""},
		"steps":                       {[]string{"wait", "web", "--for", "step="}, "step=1\tsetWeight: 10\nstep=2\tpause\nstep=3\tsetWeight: 50\nstep=4\tpause: 1m\n"},
		"goals":                       {[]string{"wait", "web", "--for", ""}, "healthy\npaused\ndegraded\nstep=\nweight=\n"},
		"namespaces":                  {[]string{"get", "rollout", "-n", "s"}, "shop\n"},
	} {
		t.Run(name, func(t *testing.T) {
			r := c.run(t.Context(), append([]string{"__complete"}, tt.args...)...)
			got := r.out[:max(0, strings.LastIndex("\n"+r.out, "\n:"))] // the last line is for the shell
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
