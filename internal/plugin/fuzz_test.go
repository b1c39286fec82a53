package plugin

import (
	"bytes"
	"encoding/gob"
	"io"
	"net/rpc"
	"testing"

	"github.com/sluice-delivery/sluice/api/plugin"
	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// wire is a connection on which the other side says what a fuzzer wants.
type wire struct{ io.Reader }

func (wire) Write(p []byte) (int, error) { return len(p), nil }
func (wire) Close() error                { return nil }

// FuzzAnswer has a plugin answer anything: the call ends, with an answer or an error.
func FuzzAnswer(f *testing.F) {
	plugin.Register()
	for _, answer := range []any{
		v1alpha1.Measurement{Phase: "Running", Metadata: map[string]string{"a": "b"}},
		plugin.StepResponse{Result: plugin.StepResult{Status: []byte("{}")}},
		plugin.VerifyWeightResponse{Verified: 1},
		"text",
	} {
		var said bytes.Buffer
		encode := gob.NewEncoder(&said)
		if err := encode.Encode(rpc.Response{ServiceMethod: "Plugin.Run", Seq: 0}); err != nil {
			f.Fatal(err)
		}
		if err := encode.Encode(answer); err != nil {
			f.Fatal(err)
		}
		f.Add(said.Bytes())
	}
	f.Fuzz(func(_ *testing.T, said []byte) {
		for _, reply := range []any{new(v1alpha1.Measurement), new(plugin.StepResponse), new(plugin.VerifyWeightResponse), new(map[string]string)} {
			client := newClient(wire{bytes.NewReader(said)})
			_ = client.Call("Plugin.Run", new(any), reply)
			_ = client.Close()
		}
	})
}

// FuzzConfig has the ConfigMap say anything: what is taken has been checked.
func FuzzConfig(f *testing.F) {
	f.Add("- {name: a/b, location: 'file:///x', sha256: abc}")
	f.Add("- name: a/b\n  location: https://x/y\n  args: [1]\n- {}")
	f.Add("{")
	f.Fuzz(func(t *testing.T, list string) {
		c := Parse(map[string]string{"stepPlugins": list})
		for id, e := range c.entries {
			if problems := e.check(id.Kind, "x"); len(problems) > 0 || e.Name != id.Name {
				t.Errorf("%q was taken although %v", id, problems)
			}
		}
	})
}
