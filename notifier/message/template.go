package message

import (
	"encoding/json"
	"fmt"
	"reflect"
	"sync"

	"github.com/argoproj/notifications-engine/pkg/services"
)

// Template is a message with blocks for services, in which values are filled.
type Template struct {
	mu        sync.Mutex
	budget    budget
	templater services.Templater
}

// Parse reads a template.
func Parse(name string, source services.Notification) (t *Template, err error) {
	defer caught(&err)
	t = &Template{}
	functions := t.budget.functions()
	if source, err = clone(source); err != nil {
		return nil, err
	}
	if err := counting(reflect.ValueOf(&source), functions); err != nil {
		return nil, err
	}
	if t.templater, err = source.GetTemplater(name, functions); err != nil {
		return nil, err
	}
	return t, nil
}

// clone is a deep copy: what is rewritten is the caller's otherwise.
func clone(source services.Notification) (services.Notification, error) {
	var copied services.Notification
	text, err := json.Marshal(source)
	if err == nil {
		err = json.Unmarshal(text, &copied)
	}
	return copied, err
}

// Apply renders the template into a message that may have something of other templates. vars is the caller's own: a template may change it.
func (t *Template) Apply(n *services.Notification, vars map[string]any) (err error) {
	defer caught(&err)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.budget.left = work
	return t.templater(n, vars)
}

// caught makes an error of a panic in the library's blocks: one template must not end the process, and with it everybody's messages.
func caught(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("the template cannot be used: %v", p)
	}
}
