package kubelet

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestInterpret(t *testing.T) {
	tests := map[string]struct {
		argv []string
		want program
	}{
		"a bare command":                           {[]string{"sleep", "5"}, program{runs: 5 * time.Second}},
		"a command in one word":                    {[]string{"sleep 5"}, program{runs: 5 * time.Second}},
		"a command by its path":                    {[]string{"/bin/false"}, program{exit: 1}},
		"a script":                                 {[]string{"sh", "-c", "sleep 2 && exit 3"}, program{runs: 2 * time.Second, exit: 3}},
		"a script for another shell, with flags":   {[]string{"/bin/bash", "-ec", "true; sleep 1m; false"}, program{runs: time.Minute, exit: 1}},
		"a joined command without a shell":         {[]string{"sleep", "1", "&&", "exit", "1"}, program{runs: time.Second, exit: 1}},
		"what follows a failure is skipped":        {[]string{"sh", "-c", "false && sleep 100"}, program{exit: 1}},
		"what follows a success is skipped":        {[]string{"sh", "-c", "true || sleep 100; sleep 1"}, program{runs: time.Second}},
		"a failure is made good":                   {[]string{"sh", "-c", "false && sleep 9 || sleep 2"}, program{runs: 2 * time.Second}},
		"nothing follows exit":                     {[]string{"sh", "-c", "exit 0; curl example.com"}, program{}},
		"exit alone keeps the status":              {[]string{"sh", "-c", "false; exit"}, program{exit: 1}},
		"lines of a script":                        {[]string{"sh", "-c", "\necho 'a; b && c'\nsleep 0.5\nexit 2\n"}, program{runs: 500 * time.Millisecond, exit: 2}},
		"joiners need no blanks":                   {[]string{"sh", "-c", "sleep 1;sleep 1&&false"}, program{runs: 2 * time.Second, exit: 1}},
		"sleeps add up":                            {[]string{"sleep", "1", "2m", "1h"}, program{runs: time.Hour + 2*time.Minute + time.Second}},
		"sleep that does not end":                  {[]string{"sh", "-c", "sleep 1; sleep infinity; false"}, program{runs: forever}},
		"an unknown command":                       {[]string{"curl", "example.com"}, program{exit: 127, unknown: true, message: "not curl example.com"}},
		"an unknown command after a while":         {[]string{"sh", "-c", "sleep 3 && curl example.com"}, program{runs: 3 * time.Second, exit: 127, unknown: true, message: "not curl"}},
		"a pipe is not interpreted":                {[]string{"sh", "-c", "echo a | grep b; curl x"}, program{exit: 127, unknown: true, message: "not curl x"}},
		"sleep with nonsense":                      {[]string{"sleep", "abc"}, program{exit: 127, unknown: true, message: "not sleep abc"}},
		"sleep with nothing":                       {[]string{"sleep", ""}, program{exit: 127, unknown: true, message: "not sleep"}},
		"sleep with a number beyond all":           {[]string{"sleep", "1e300"}, program{exit: 127, unknown: true, message: "not sleep"}},
		"exit with more than a byte":               {[]string{"exit", "256"}, program{exit: 127, unknown: true, message: "not exit 256"}},
		"no command at all: the image has its own": {nil, program{exit: 127, unknown: true, message: "no command"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := interpret(test.argv)
			if !strings.Contains(got.message, test.want.message) || (got.message == "") != (test.want.message == "") {
				t.Errorf("message %q, want it to have %q", got.message, test.want.message)
			}
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(program{}), cmpopts.IgnoreFields(program{}, "message")); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestImage(t *testing.T) {
	tests := map[string]struct{ tag, reference string }{
		"nginx":                            {"latest", "docker.io/library/nginx:latest"},
		"nginx:bad":                        {"bad", "docker.io/library/nginx:bad"},
		"argoproj/rollouts-demo:blue":      {"blue", "docker.io/argoproj/rollouts-demo:blue"},
		"localhost:5000/web":               {"latest", "localhost:5000/web:latest"},
		"registry.example.com/a/b:v1":      {"v1", "registry.example.com/a/b:v1"},
		"nginx:1.27@sha256:" + digest("x"): {"1.27", "docker.io/library/nginx:1.27@sha256:" + digest("x")},
	}
	for image, want := range tests {
		t.Run(image, func(t *testing.T) {
			if got := imageTag(image); got != want.tag {
				t.Errorf("tag %q, want %q", got, want.tag)
			}
			if got := imageReference(image); got != want.reference {
				t.Errorf("reference %q, want %q", got, want.reference)
			}
			if id := imageID(image); !strings.Contains(id, "@sha256:") || strings.Count(id, "@") != 1 {
				t.Errorf("the image ID %q is not by digest", id)
			}
		})
	}
}
