package docs_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	lua "github.com/yuin/gopher-lua"
	"sigs.k8s.io/yaml"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/sim/script"
)

// The health script for Argo CD, run as Argo CD runs it, on Rollouts that the engine has brought into each state.
func TestArgoCDHealth(t *testing.T) {
	health := healthScript(t)
	const update = `rollout web replicas=4 maxUnavailable=0 steps="weight 25; pause"`
	for name, test := range map[string]struct {
		story           []string
		change          func(*v1alpha1.Rollout)
		status, message string
	}{
		"without an update":     {[]string{update, "settle"}, nil, "Healthy", ""},
		"whose pods start":      {[]string{update, "settle", "set image v2", "advance 5s"}, nil, "Progressing", "more replicas need to be updated"},
		"that waits":            {[]string{update, "settle", "set image v2", "advance 1m"}, nil, "Suspended", "CanaryPauseStep"},
		"that was aborted":      {[]string{update, "settle", "set image v2", "advance 1m", "abort", "advance 1m"}, nil, "Degraded", "RolloutAborted: Rollout aborted update to revision 2"},
		"promoted":              {[]string{update, "settle", "set image v2", "advance 1m", "promote", "advance 2m"}, nil, "Healthy", ""},
		"whose pods never come": {[]string{update, "settle", "break v2", "set image v2", "advance 11m"}, nil, "Degraded", "ProgressDeadlineExceeded"},
		"that names a Service that is missing": {
			[]string{`rollout web replicas=1 canaryService=web-canary stableService=web-stable`, "settle"}, nil, "Degraded", `service "web-canary" not found`,
		},
		"that no controller has seen": {[]string{update}, func(ro *v1alpha1.Rollout) { ro.Status = v1alpha1.RolloutStatus{} }, "Progressing", "has not seen this spec"},
		"that was just edited":        {[]string{update, "settle"}, func(ro *v1alpha1.Rollout) { ro.Generation++ }, "Progressing", "has not seen this spec"},
	} {
		t.Run(name, func(t *testing.T) {
			told := script.New()
			told.Hush()
			for _, line := range test.story {
				if _, err := told.Run(line); err != nil {
					t.Fatal(err)
				}
			}
			ro := told.World.Rollout().DeepCopy()
			if test.change != nil {
				test.change(ro)
			}
			status, message := healthOf(t, health, ro)
			if status != test.status || !strings.Contains(message, test.message) {
				t.Errorf("%s %q, want %s %q", status, message, test.status, test.message)
			}
		})
	}
}

func healthScript(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("dashboard.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range yamlBlock.FindAllStringSubmatch(string(page), -1) {
		var settings map[string]string
		if yaml.Unmarshal([]byte(block[1]), &settings) == nil && settings["resource.customizations.health.argoproj.io_Rollout"] != "" {
			return settings["resource.customizations.health.argoproj.io_Rollout"]
		}
	}
	t.Fatal("dashboard.md has no health script")
	return ""
}

// healthOf gives a health script the object as a table named obj, and reads the table that it returns.
func healthOf(t *testing.T, source string, ro *v1alpha1.Rollout) (status, message string) {
	t.Helper()
	text, err := json.Marshal(ro)
	if err != nil {
		t.Fatal(err)
	}
	var object any
	if err := json.Unmarshal(text, &object); err != nil {
		t.Fatal(err)
	}
	vm := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer vm.Close()
	for _, open := range []lua.LGFunction{lua.OpenBase, lua.OpenTable, lua.OpenString, lua.OpenMath} {
		open(vm)
	}
	vm.SetGlobal("obj", luaOf(vm, object))
	if err := vm.DoString(source); err != nil {
		t.Fatal(err)
	}
	health, ok := vm.Get(-1).(*lua.LTable)
	if !ok {
		t.Fatalf("the script returns %s", vm.Get(-1))
	}
	return lua.LVAsString(health.RawGetString("status")), lua.LVAsString(health.RawGetString("message"))
}

func luaOf(vm *lua.LState, v any) lua.LValue {
	switch v := v.(type) {
	case map[string]any:
		table := vm.NewTable()
		for name, value := range v {
			table.RawSetString(name, luaOf(vm, value))
		}
		return table
	case []any:
		table := vm.NewTable()
		for _, value := range v {
			table.Append(luaOf(vm, value))
		}
		return table
	case string:
		return lua.LString(v)
	case float64:
		return lua.LNumber(v)
	case bool:
		return lua.LBool(v)
	}
	return lua.LNil
}
