package play

import (
	"encoding/json"
	"fmt"
	"maps"
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
	// Line is where it is written: "bad.txt:3".
	Line string
}

func (e Event) String() string { return strings.Join(append([]string{e.Verb}, e.Args...), " ") }

// metric reports which metric an event is about, if it is about one.
func (e Event) metric() (name string, ok bool) {
	if len(e.Args) > 1 && e.Args[0] == "metric" {
		return e.Args[1], true
	}
	return "", false
}

// verbs are what there is, and what comes behind: words as they stand, and in capitals what takes their place.
var verbs = map[string][]string{
	"fail": {"metric NAME"}, "pass": {"metric NAME"}, "inconclusive": {"metric NAME"}, "error": {"metric NAME"}, "nodata": {"metric NAME"},
	"value": {"metric NAME VALUE"}, "takes": {"metric NAME DURATION"},
	"break": {"pods"}, "crash": {"pods"}, "kill": {"NUMBER pods"}, "mend": {"pods", "metric NAME"},
	"scale": {"NUMBER"}, "load": {"NUMBER"}, "image": {"CONTAINER=IMAGE"},
	"delete": {"service NAME"}, "restore": {"service NAME"},
	"promote": {""}, "promote-full": {""}, "abort": {""}, "retry": {""}, "undo": {""}, "pause": {""}, "resume": {""}, "restart": {""},
}

// ParseScenario reads lines such as "at 5m fail metric error-rate". Empty lines, and what follows a #, are for the reader. All that is
// wrong is in the error, each with its line.
func ParseScenario(name, text string) ([]Event, error) {
	var events []Event
	var problems []string
	for i, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		e, err := parseEvent(words)
		e.Line = fmt.Sprintf("%s:%d", name, i+1)
		if err != nil {
			problems = append(problems, e.Line+": "+err.Error())
			continue
		}
		events = append(events, e)
	}
	return events, problemsOf(problems)
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
	patterns, known := verbs[e.Verb]
	if !known {
		return Event{}, fmt.Errorf("unknown verb %q: %s", e.Verb, meant(e.Verb, slices.Sorted(maps.Keys(verbs))))
	}
	if slices.ContainsFunc(patterns, e.fits) {
		return e, nil
	}
	if patterns[0] == "" {
		return Event{}, fmt.Errorf("%s takes no arguments, and has %q", e.Verb, strings.Join(e.Args, " "))
	}
	return Event{}, fmt.Errorf("%s needs %s, and has %q: write for example %q",
		e.Verb, strings.Join(patterns, ", or "), strings.Join(e.Args, " "), e.Verb+" "+examples.Replace(patterns[0]))
}

// examples are what can take the place of the words in capitals.
var examples = strings.NewReplacer("metric NAME", "metric error-rate", "service NAME", "service web-canary", "CONTAINER=IMAGE", "web=web:3",
	"NUMBER", "3", "VALUE", "0.2", "DURATION", "90s")

// meant says which word was probably meant, or which there are.
func meant(word string, known []string) string {
	if near := spelling.Nearest(word, known); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	if len(known) == 0 {
		return "there are none"
	}
	return "there are " + strings.Join(known, ", ")
}

// fits reports whether what stands behind the verb is what the pattern asks for.
func (e Event) fits(pattern string) bool {
	words := strings.Fields(pattern)
	if len(words) != len(e.Args) {
		return false
	}
	for i, word := range words {
		arg := e.Args[i]
		var err error
		switch word {
		case "NAME":
		case "VALUE":
			if strings.ContainsAny(arg[:1], `[{"`) && !json.Valid([]byte(arg)) {
				return false
			}
		case "NUMBER":
			_, err = strconv.ParseUint(arg, 10, 31)
		case "DURATION":
			var d time.Duration
			if d, err = time.ParseDuration(arg); d < 0 {
				return false
			}
		case "CONTAINER=IMAGE":
			container, image, ok := strings.Cut(arg, "=")
			if !ok || container == "" || image == "" {
				return false
			}
		default:
			if arg != word {
				return false
			}
		}
		if err != nil {
			return false
		}
	}
	return true
}

// number is the first number behind the verb.
func (e Event) number() int32 {
	for _, arg := range e.Args {
		if n, err := strconv.ParseInt(arg, 10, 32); err == nil {
			return int32(n)
		}
	}
	return 0
}
