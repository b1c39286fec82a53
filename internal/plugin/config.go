package plugin

import (
	"encoding/hex"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/sluice-delivery/sluice/api/plugin"
	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// Keys are the lists of the ConfigMap, by what the plugins in them do.
var Keys = map[plugin.Kind]string{
	plugin.TrafficRouter: "trafficRouterPlugins", plugin.MetricProvider: "metricProviderPlugins", plugin.Step: "stepPlugins",
}

// Entry is one plugin as the ConfigMap lists it. env, timeout and preferBinary are our own.
type Entry struct {
	Name        string       `json:"name"`
	Location    string       `json:"location"`
	SHA256      string       `json:"sha256,omitempty"`
	Args        []string     `json:"args,omitempty"`
	HeadersFrom []HeaderFrom `json:"headersFrom,omitempty"`
	// Disabled: the step counts as done.
	Disabled bool `json:"disabled,omitempty"`
	// Env names variables of the controller's environment that the plugin gets as well.
	Env []string `json:"env,omitempty"`
	// Timeout is how long one call may take.
	Timeout string `json:"timeout,omitempty"`
	// PreferBinary has the plugin's process split traffic where the controller has a router of its own for that name.
	PreferBinary bool `json:"preferBinary,omitempty"`
}

// HeaderFrom is a Secret whose keys and values are headers of the request for the binary.
type HeaderFrom struct {
	SecretRef SecretRef `json:"secretRef"`
}

// SecretRef names a Secret in the controller's namespace.
type SecretRef struct {
	Name string `json:"name"`
}

const (
	defaultTimeout = time.Minute
	longestTimeout = 10 * time.Minute
	// mostPlugins is how many one list may have.
	mostPlugins = 100
)

// timeout is how long one call may take; the entry has been checked.
func (e Entry) timeout() time.Duration {
	d, err := v1alpha1.DurationString(e.Timeout).Duration()
	if e.Timeout == "" || err != nil {
		return defaultTimeout
	}
	return d
}

// ID tells plugins apart: one name may stand for two that do different things.
type ID struct {
	Kind plugin.Kind
	Name string
}

func (id ID) String() string { return fmt.Sprintf("%s plugin %q", spoken[id.Kind], id.Name) }

// spoken is what people call the kinds.
var spoken = map[plugin.Kind]string{plugin.TrafficRouter: "traffic router", plugin.MetricProvider: "metric", plugin.Step: "step"}

// Problem is something wrong with the ConfigMap.
type Problem struct {
	// Field such as `metricProviderPlugins[0].sha256`.
	Field, Text string
}

func (p Problem) String() string { return p.Field + ": " + p.Text }

// Config is what the ConfigMap says. One broken entry breaks itself alone.
type Config struct {
	entries map[ID]Entry
	// broken are the problems by the plugin that they break, lists those that break a whole list.
	broken map[ID]Problem
	lists  map[plugin.Kind]Problem
	// Problems are all of them, in the order of the ConfigMap.
	Problems []Problem
}

// Find is a plugin that the ConfigMap lists, or why there is none.
func (c Config) Find(id ID) (Entry, error) {
	if entry, ok := c.entries[id]; ok {
		return entry, nil
	}
	if p, ok := c.broken[id]; ok {
		return Entry{}, fmt.Errorf("ConfigMap %s: %s", v1alpha1.ConfigMapName, p)
	}
	if p, ok := c.lists[id.Kind]; ok {
		return Entry{}, fmt.Errorf("ConfigMap %s: %s", v1alpha1.ConfigMapName, p)
	}
	return Entry{}, fmt.Errorf("plugin %s not configured in configmap %s: ask the administrator to add it to %s",
		id.Name, v1alpha1.ConfigMapName, Keys[id.Kind])
}

// Lists reports whether the ConfigMap has an entry for a plugin, good or broken, as far as its list can be read.
func (c Config) Lists(id ID) bool {
	_, good := c.entries[id]
	_, broken := c.broken[id]
	_, unreadable := c.lists[id.Kind]
	return good || broken || unreadable
}

// Names are the plugins of a kind that can be used.
func (c Config) Names(kind plugin.Kind) []string {
	var names []string
	for id := range c.entries {
		if id.Kind == kind {
			names = append(names, id.Name)
		}
	}
	slices.Sort(names)
	return names
}

// Parse reads the ConfigMap's data.
func Parse(data map[string]string) Config {
	c := Config{entries: map[ID]Entry{}, broken: map[ID]Problem{}, lists: map[plugin.Kind]Problem{}}
	for _, kind := range slices.Sorted(maps.Keys(Keys)) {
		c.list(kind, data[Keys[kind]])
	}
	return c
}

func (c *Config) list(kind plugin.Kind, text string) {
	key := Keys[kind]
	var listed []any
	if err := yaml.Unmarshal([]byte(text), &listed); err != nil {
		c.breakList(kind, Problem{key, fmt.Sprintf("is not a YAML list of plugins: %s", err)})
		return
	}
	if len(listed) > mostPlugins {
		c.breakList(kind, Problem{key, fmt.Sprintf("lists %d plugins, and may list %d", len(listed), mostPlugins)})
		return
	}
	for i, item := range listed {
		c.entry(kind, fmt.Sprintf("%s[%d]", key, i), item)
	}
}

func (c *Config) breakList(kind plugin.Kind, p Problem) {
	c.lists[kind] = p
	c.Problems = append(c.Problems, p)
}

func (c *Config) entry(kind plugin.Kind, field string, item any) {
	var e Entry
	text, err := yaml.Marshal(item)
	if err == nil {
		err = yaml.UnmarshalStrict(text, &e)
	}
	id := ID{kind, e.Name}
	if fields, ok := item.(map[string]any); ok && e.Name == "" {
		id.Name, _ = fields["name"].(string)
	}
	var found []Problem
	_, twice := c.entries[id]
	switch {
	case err != nil:
		found = []Problem{{field, "cannot be read: " + strings.TrimPrefix(err.Error(), "error unmarshaling JSON: while decoding JSON: json: ")}}
	case twice:
		found = []Problem{{field + ".name", fmt.Sprintf("%q is listed twice: remove one of the two", e.Name)}}
	default:
		found = e.check(kind, field)
	}
	if len(found) == 0 {
		c.entries[id] = e
		return
	}
	c.Problems = append(c.Problems, found...)
	if !twice {
		c.broken[id] = found[0]
	}
}

// named is how plugins are called: as repositories are.
var named = regexp.MustCompile(`^([a-zA-Z0-9\-]+)/([a-zA-Z0-9_\-.]+)$`)

// check says what is wrong with an entry.
func (e Entry) check(kind plugin.Kind, field string) []Problem {
	var all []Problem
	add := func(below, format string, args ...any) {
		all = append(all, Problem{field + below, fmt.Sprintf(format, args...)})
	}
	if !named.MatchString(e.Name) || strings.HasSuffix(e.Name, "/..") || strings.HasSuffix(e.Name, "/.") {
		add(".name", "plugin repository (%s) must be in the format of <namespace>/<name>", e.Name)
	}
	if problem := locationProblem(e.Location); problem != "" {
		add(".location", "%s", problem)
	}
	if digest, err := hex.DecodeString(e.SHA256); e.SHA256 != "" && (err != nil || len(digest) != 32) {
		add(".sha256", "%q is not 64 hexadecimal digits: write what sha256sum prints for the binary", e.SHA256)
	}
	if e.Disabled && kind != plugin.Step {
		add(".disabled", "works for %s only: remove the entry instead", Keys[plugin.Step])
	}
	if e.PreferBinary && (kind != plugin.TrafficRouter || e.Name != v1alpha1.GatewayAPIPluginName) {
		add(".preferBinary", "works for %s in %s only, which the controller has built in: remove it", v1alpha1.GatewayAPIPluginName, Keys[plugin.TrafficRouter])
	}
	for i, from := range e.HeadersFrom {
		if from.SecretRef.Name == "" {
			add(fmt.Sprintf(".headersFrom[%d].secretRef.name", i), "is empty: name a Secret in the controller's namespace")
		}
	}
	if d, err := v1alpha1.DurationString(e.Timeout).Duration(); e.Timeout != "" && (err != nil || d <= 0 || d > longestTimeout) {
		add(".timeout", `%q is not a time between 0 and %s: write for example "30s"`, e.Timeout, longestTimeout)
	}
	return all
}

// from is the location as it is shown: without a password.
func (e Entry) from() string {
	u, err := url.Parse(e.Location)
	if err != nil {
		return e.Location
	}
	return u.Redacted()
}

func locationProblem(location string) string {
	u, err := url.Parse(location)
	switch {
	case err != nil:
		return fmt.Sprintf("%q is not a URL: %s", location, err)
	case u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "file":
		return fmt.Sprintf("%q: plugin location must be of http(s) or file scheme", location)
	case u.Scheme == "file" && u.Host+u.Path == "", u.Scheme != "file" && u.Host == "":
		return fmt.Sprintf("%q names no file: write for example https://example.com/plugin, or file:///plugins/plugin", location)
	}
	return ""
}

// same reports whether a process of one entry is one of the other.
func (e Entry) same(o Entry) bool { return reflect.DeepEqual(e, o) }
