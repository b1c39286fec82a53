package play

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-delivery/sluice/internal/spelling"
)

// Event is something that happens from outside while the update runs.
type Event struct {
	At   time.Duration
	Verb string
	Args []string
	// Line of the scenario, from one.
	Line int
}

func (e Event) String() string { return strings.Join(append([]string{e.Verb}, e.Args...), " ") }

// arguments are the verbs, and what comes behind them.
var arguments = map[string]string{
	"fail": "metric NAME", "mend": "metric NAME, or pods", "break": "pods",
	"scale": "NUMBER", "image": "CONTAINER=IMAGE",
	"promote": "", "promote-full": "", "abort": "", "retry": "", "pause": "", "resume": "", "restart": "",
}

// ParseScenario reads lines such as "at 5m fail metric error-rate". Empty lines, and what follows a #, are for the reader.
func ParseScenario(name, text string) ([]Event, error) {
	var events []Event
	for i, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		e, err := parseEvent(words)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, i+1, err)
		}
		e.Line = i + 1
		events = append(events, e)
	}
	slices.SortStableFunc(events, func(a, b Event) int { return int(a.At - b.At) })
	return events, nil
}

func parseEvent(words []string) (Event, error) {
	if words[0] != "at" || len(words) < 3 {
		return Event{}, fmt.Errorf("%q is not \"at TIME VERB ...\": write for example \"at 5m abort\"", strings.Join(words, " "))
	}
	at, err := time.ParseDuration(words[1])
	if err != nil || at < 0 {
		return Event{}, fmt.Errorf("%q is not a time since the update begins: write for example 90s or 5m", words[1])
	}
	e := Event{At: at, Verb: words[2], Args: words[3:]}
	wanted, known := arguments[e.Verb]
	if !known {
		var verbs []string
		for verb := range arguments {
			verbs = append(verbs, verb)
		}
		slices.Sort(verbs)
		if near := spelling.Nearest(e.Verb, verbs); near != "" {
			return Event{}, fmt.Errorf("unknown verb %q: did you mean %q?", e.Verb, near)
		}
		return Event{}, fmt.Errorf("unknown verb %q: there are %s", e.Verb, strings.Join(verbs, ", "))
	}
	if !e.complete() {
		if wanted == "" {
			return Event{}, fmt.Errorf("%s takes nothing behind it, and has %q", e.Verb, strings.Join(e.Args, " "))
		}
		return Event{}, fmt.Errorf("%s wants %s behind it, and has %q", e.Verb, wanted, strings.Join(e.Args, " "))
	}
	return e, nil
}

// complete reports whether the verb has what it wants.
func (e Event) complete() bool {
	switch e.Verb {
	case "fail":
		return len(e.Args) == 2 && e.Args[0] == "metric"
	case "mend":
		return len(e.Args) == 2 && e.Args[0] == "metric" || len(e.Args) == 1 && e.Args[0] == "pods"
	case "break":
		return len(e.Args) == 1 && e.Args[0] == "pods"
	case "scale":
		return len(e.Args) == 1 && isNumber(e.Args[0])
	case "image":
		return len(e.Args) == 1 && isImage(e.Args[0])
	}
	return len(e.Args) == 0
}

func isNumber(text string) bool {
	n, err := strconv.ParseInt(text, 10, 32)
	return err == nil && n >= 0
}

func isImage(text string) bool {
	container, image, ok := strings.Cut(text, "=")
	return ok && container != "" && image != ""
}
