package explore

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/sim"
)

// people act on the World. If a recording is made, what they do is written down as lines that can be repeated: each is the name of a
// method and its arguments in JSON. Changes of an object are written down as merge patches.
type people struct {
	*sim.World
	// acts are the lines since the recording began; nil without one.
	acts *[]string
	// approved and jumped are called when that happens.
	approved func()
	jumped   func(time.Duration)
}

// does notes what is being done.
func (p *people) does(verb string, args ...any) {
	if p.acts == nil {
		return
	}
	line := verb
	for _, arg := range args {
		if d, ok := arg.(time.Duration); ok {
			arg = d.String()
		}
		text, err := json.Marshal(arg)
		if err != nil {
			panic(err)
		}
		line += " " + string(text)
	}
	*p.acts = append(*p.acts, line)
}

// again does what a line says.
func (p *people) again(line string) error {
	verb, rest, _ := strings.Cut(line, " ")
	decoder := json.NewDecoder(strings.NewReader(rest))
	if edit := p.edits()[verb]; edit != nil {
		return edit(decoder)
	}
	method := reflect.ValueOf(p).MethodByName(verb)
	if !method.IsValid() {
		return fmt.Errorf("nobody can %q", verb)
	}
	var args []reflect.Value
	for i := range method.Type().NumIn() {
		arg := reflect.New(method.Type().In(i))
		if err := decodeArg(decoder, arg.Interface()); err != nil {
			return fmt.Errorf("%s: argument %d: %w", line, i+1, err)
		}
		args = append(args, arg.Elem())
	}
	method.Call(args)
	return nil
}

func decodeArg(decoder *json.Decoder, into any) error {
	d, ok := into.(*time.Duration)
	if !ok {
		return decoder.Decode(into)
	}
	var text string
	if err := decoder.Decode(&text); err != nil {
		return err
	}
	var err error
	*d, err = time.ParseDuration(text)
	return err
}

// edits are the verbs whose last argument is a patch.
func (p *people) edits() map[string]func(*json.Decoder) error {
	return map[string]func(*json.Decoder) error{
		"Edit":           func(d *json.Decoder) error { return patched(d, p.World.Edit) },
		"PutDeployment":  func(d *json.Decoder) error { return patched(d, p.World.PutDeployment) },
		"TenantPuts":     p.tenantPutsAgain,
		"EditService":    func(d *json.Decoder) error { return patchedNamed(d, p.World.EditService) },
		"EditExperiment": func(d *json.Decoder) error { return patchedNamed(d, p.World.EditExperiment) },
	}
}

// patched edits an object by the patch that comes next.
func patched[T any](d *json.Decoder, edit func(func(*T))) error {
	var patch json.RawMessage
	if err := d.Decode(&patch); err != nil {
		return err
	}
	var failed error
	edit(func(o *T) {
		before, err := json.Marshal(o)
		if err != nil {
			failed = err
			return
		}
		after, err := jsonpatch.MergePatch(before, patch)
		if err != nil {
			failed = err
			return
		}
		var next T
		if failed = json.Unmarshal(after, &next); failed == nil {
			*o = next
		}
	})
	return failed
}

func patchedNamed[T any](d *json.Decoder, edit func(string, func(*T))) error {
	var name string
	if err := d.Decode(&name); err != nil {
		return err
	}
	return patched(d, func(change func(*T)) { edit(name, change) })
}

// noting is a change that is written down as the patch that it comes to.
func noting[T any](p *people, change func(*T), verb string, args ...any) func(*T) {
	if p.acts == nil {
		return change
	}
	return func(o *T) {
		before, err := json.Marshal(o)
		if err != nil {
			panic(err)
		}
		change(o)
		after, err := json.Marshal(o)
		if err != nil {
			panic(err)
		}
		patch, err := jsonpatch.CreateMergePatch(before, after)
		if err != nil {
			panic(err)
		}
		p.does(verb, append(args, json.RawMessage(patch))...)
	}
}

// Edit is the World's, and is written down.
func (p *people) Edit(change func(*v1alpha1.Rollout)) { p.World.Edit(noting(p, change, "Edit")) }

// PutDeployment is the World's, and is written down.
func (p *people) PutDeployment(change func(*appsv1.Deployment)) {
	p.World.PutDeployment(noting(p, change, "PutDeployment"))
}

// EditService is the World's, and is written down.
func (p *people) EditService(name string, change func(*corev1.Service)) {
	p.World.EditService(name, noting(p, change, "EditService", name))
}

// EditExperiment is the World's, and is written down.
func (p *people) EditExperiment(name string, change func(*v1alpha1.Experiment)) {
	p.World.EditExperiment(name, noting(p, change, "EditExperiment", name))
}

// Approve notes that a person is content with the version that is being updated to.
func (p *people) Approve() {
	p.does("Approve")
	p.approved()
}

// Jump moves the clock.
func (p *people) Jump(by time.Duration) {
	p.does("Jump", by)
	p.World.Jump(by)
	if p.jumped != nil {
		p.jumped(by)
	}
}

// Nudge has the controller look for nothing.
func (p *people) Nudge() {
	p.does("Nudge")
	p.Loop().Nudge()
}

// RestoreTemplates writes the AnalysisTemplates of a laboratory.
func (p *people) RestoreTemplates() {
	p.does("RestoreTemplates")
	p.PutTemplates(templatesToMeasure())
}

// Route gives a Rollout a router, and PutRouter does so for one that has one already.
func (p *people) Route(ro *v1alpha1.Rollout, router string) error {
	p.does("PutRouter", router)
	return p.World.Route(ro, router)
}

// PutRouter writes what a Rollout needs that a router of this name serves.
func (p *people) PutRouter(router string) error {
	return p.World.Route(sim.NewRollout("web", "v1", 1), router)
}

// Create is the World's, and is written down.
func (p *people) Create(ro *v1alpha1.Rollout) {
	p.does("Create", ro)
	p.World.Create(ro)
}

// CreateExperiment is the World's, and is written down.
func (p *people) CreateExperiment(ex *v1alpha1.Experiment) {
	p.does("CreateExperiment", ex)
	p.World.CreateExperiment(ex)
}

// PutRoute is the World's, and is written down.
func (p *people) PutRoute(o *unstructured.Unstructured) {
	p.does("PutRoute", o)
	p.World.PutRoute(o)
}

// SetFate is the World's, and is written down.
func (p *people) SetFate(image string, f sim.Fate) {
	p.does("SetFate", image, f)
	p.World.SetFate(image, f)
}

// tenantPuts stores an object in the tenant's namespace, and TenantRemoves takes one away.
func (p *people) tenantPuts(k schema.GroupKind, o sim.Object) {
	p.does("TenantPuts", k.Group, k.Kind, o)
	p.Server().Put(o)
}

func (p *people) tenantPutsAgain(d *json.Decoder) error {
	var k schema.GroupKind
	if err := errors.Join(d.Decode(&k.Group), d.Decode(&k.Kind)); err != nil {
		return err
	}
	o := emptyOf(k)
	if err := d.Decode(o); err != nil {
		return err
	}
	p.Server().Put(o)
	return nil
}

func emptyOf(k schema.GroupKind) sim.Object {
	switch k.Kind {
	case v1alpha1.KindRollout:
		return &v1alpha1.Rollout{}
	case v1alpha1.KindAnalysisRun:
		return &v1alpha1.AnalysisRun{}
	case v1alpha1.KindExperiment:
		return &v1alpha1.Experiment{}
	case v1alpha1.KindAnalysisTemplate:
		return &v1alpha1.AnalysisTemplate{}
	case "ReplicaSet":
		return &appsv1.ReplicaSet{}
	case "Service":
		return &corev1.Service{}
	case "Deployment":
		return &appsv1.Deployment{}
	}
	return &unstructured.Unstructured{}
}

// TenantRemoves takes an object out of the tenant's namespace.
func (p *people) TenantRemoves(group, kind, name string) {
	p.does("TenantRemoves", group, kind, name)
	p.Server().Remove(schema.GroupKind{Group: group, Kind: kind}, types.NamespacedName{Namespace: tenants, Name: name})
}
