package conformance

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/sluice-delivery/sluice/internal/traffic"
)

// Golden holds a router against transcripts. They begin with what there is, and each split goes on from what the one before it has left:
//
//	rollout web        sets up the router of a Rollout in the namespace shop, from YAML of its type in package spec
//	objects            adds objects, or puts them in the place of those of the same name
//	split web 80:20    renders a split, and shows the objects that change; more weights than two are those of experiments. Words: max=N,
//	                   in-progress, stable=SERVICE, canary=SERVICE and managed=ROUTE. Below it stand the managed routes.
//	events web 80:20   does the same as split, and shows the events of the writes, and of what is wrong with the objects
//	rejected web 80:20 shows the events if the API server rejects each write, and leaves everything as it is
//	rejected-release web  the same for the writes of a release
//	release web        releases all objects of the Rollout's router
//	return web         the same, with its traffic on the stable Service
func Golden(t *testing.T, folder string, make func(owner traffic.Owner, setup []byte) (traffic.Router, error)) {
	datadriven.Walk(t, folder, func(t *testing.T, file string) {
		if !strings.HasSuffix(file, ".txt") {
			t.Skip("no transcript")
		}
		s := stage{routers: map[string]traffic.Router{}, world: Memory{}, make: make}
		datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
			text, err := s.play(t, d)
			if err != nil {
				d.Fatalf(t, "%v", err)
			}
			return text
		})
	})
}

type stage struct {
	routers map[string]traffic.Router
	world   Memory
	make    func(traffic.Owner, []byte) (traffic.Router, error)
}

func (s *stage) play(t *testing.T, d *datadriven.TestData) (string, error) {
	if d.Cmd == "objects" {
		maps.Copy(s.world, Parse(t, d.Input, "shop"))
		return "", nil
	}
	if len(d.CmdArgs) == 0 {
		return "", fmt.Errorf("%s needs the name of a Rollout", d.Cmd)
	}
	name := d.CmdArgs[0].Key
	if d.Cmd == "rollout" {
		router, err := s.make(traffic.Owner{Namespace: "shop", Name: name, UID: types.UID("uid-of-" + name)}, []byte(d.Input))
		s.routers[name] = router
		return "", err
	}
	router := s.routers[name]
	if router == nil {
		return "", fmt.Errorf("there is no router for %q", name)
	}
	before := s.world.Have(t, router.Refs())
	after, told := traffic.Objects{}, ""
	switch d.Cmd {
	case "release", "return", "rejected-release":
		for key, o := range before {
			if r, ok := router.(traffic.Returner); ok && d.Cmd == "return" {
				o = r.Return(o)
			}
			if released := router.Release(o); released != nil {
				after[key] = released
			}
		}
	case "split", "events", "rejected":
		want, err := parseSplit(d)
		if err != nil {
			return "", err
		}
		rendered, problems := router.Render(want, before)
		after = rendered
		for _, p := range problems {
			told += fmt.Sprintln(p)
		}
		if again, _ := router.Render(want, copied(after)); len(difference(after, again)) > 0 {
			return "", fmt.Errorf("rendering it again changes it")
		}
		if read, ok := router.Weight(want, after); len(problems) == 0 && (!ok || read.Least > want.Canary.Weight || read.Most < want.Canary.Weight) {
			return "", fmt.Errorf("a weight of %d is rendered, and reads as %v, %t", want.Canary.Weight, read, ok)
		}
	default:
		return "", fmt.Errorf("unknown command %q", d.Cmd)
	}
	switch d.Cmd {
	case "rejected", "rejected-release":
		return strings.Join(rejected(router, before, after), ""), nil
	case "events":
		told = strings.Join(events(router, before, after), "")
		s.world.Apply(t, before, after)
		return told, nil
	}
	s.world.Apply(t, before, after)
	return told + strings.Join(difference(before, after), "---\n"), nil
}

// events are those of all writes that lead from some objects to others, and before them those of what is wrong.
func events(router traffic.Router, before, after traffic.Objects) (all []string) {
	if r, ok := router.(traffic.TroubleReporter); ok {
		for _, trouble := range r.Troubles(before) {
			all = append(all, line(trouble.Event))
		}
	}
	if r, ok := router.(traffic.Reporter); ok {
		for _, key := range changed(router, before, after) {
			for _, event := range r.Report(before[key], after[key]) {
				all = append(all, line(event))
			}
		}
	}
	return all
}

// rejected are the events if the API server takes none of these writes.
func rejected(router traffic.Router, before, after traffic.Objects) (all []string) {
	r, ok := router.(traffic.FailureReporter)
	if !ok {
		return nil
	}
	for _, key := range changed(router, before, after) {
		if event, ok := r.ReportFailure(before[key], after[key], "it is frozen"); ok {
			all = append(all, line(event))
		}
	}
	return all
}

// changed are the objects that are written, in the order in which they are.
func changed(router traffic.Router, before, after traffic.Objects) (all []traffic.Key) {
	for _, ref := range router.Refs() {
		if key := ref.Key(); before[key] != after[key] {
			all = append(all, key)
		}
	}
	return all
}

func line(e traffic.Event) string {
	kind := "Normal"
	if e.Warning {
		kind = "Warning"
	}
	return fmt.Sprintln(kind, e.Reason+":", e.Message)
}

// difference shows the objects of after that differ from those before.
func difference(before, after traffic.Objects) []string {
	keys := slices.SortedFunc(maps.Keys(after), func(a, b traffic.Key) int {
		return strings.Compare(fmt.Sprint(a.Kind, a.NamespacedName, a.Group), fmt.Sprint(b.Kind, b.NamespacedName, b.Group))
	})
	var all []string
	for _, key := range keys {
		was := ""
		if before[key] != nil {
			was = asYAML(before[key].Object)
		}
		if now := asYAML(after[key].Object); now != was {
			all = append(all, now)
		}
	}
	for key := range before {
		if after[key] == nil {
			all = append(all, fmt.Sprintf("# %s %s is deleted\n", key.Kind, key.Name))
		}
	}
	return all
}

func asYAML(object map[string]any) string {
	text, err := yaml.Marshal(object)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func parseSplit(d *datadriven.TestData) (traffic.Split, error) {
	want := split(0)
	for _, arg := range d.CmdArgs[1:] {
		switch arg.Key {
		case "in-progress":
			want.InProgress = true
		case "max":
			if _, err := fmt.Sscan(arg.Vals[0], &want.Max); err != nil {
				return want, err
			}
		case "stable":
			want.Stable.Service = arg.Vals[0]
		case "managed":
			want.Managed = arg.Vals
		case "canary":
			want.Canary.Service = arg.Vals[0]
		default:
			if err := parseWeights(arg.Key, &want); err != nil {
				return want, err
			}
		}
	}
	var managed []struct {
		Header *traffic.HeaderRoute
		Mirror *traffic.MirrorRoute
	}
	if err := yaml.UnmarshalStrict([]byte(d.Input), &managed); err != nil {
		return want, err
	}
	for _, m := range managed {
		if m.Header != nil {
			want.Routes = append(want.Routes, *m.Header)
		}
		if m.Mirror != nil {
			want.Routes = append(want.Routes, *m.Mirror)
		}
	}
	return want, nil
}

func parseWeights(text string, want *traffic.Split) error {
	for i, part := range strings.Split(text, ":") {
		var weight int32
		if _, err := fmt.Sscan(part, &weight); err != nil {
			return fmt.Errorf("%q is not a weight", part)
		}
		switch i {
		case 0:
			want.Stable.Weight = weight
		case 1:
			want.Canary.Weight = weight
		default:
			want.Additional = append(want.Additional, traffic.Destination{Service: fmt.Sprintf("%s-%d", Experiment, i-1), Weight: weight})
		}
	}
	return nil
}
