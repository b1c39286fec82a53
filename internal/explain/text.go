package explain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/view"
)

// Paragraph is a part of an explanation: a sentence and the lines that it introduces.
type Paragraph struct {
	Text  string
	Items []string
	// Joined means that no blank line separates it from the paragraph before.
	Joined bool
}

// Text is the explanation in sentences. command is what users type before "promote".
func (e Explanation) Text(command string) string {
	var b strings.Builder
	for i, p := range e.Paragraphs(command) {
		if i > 0 && !p.Joined {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s\n", p.Text)
		for _, item := range p.Items {
			fmt.Fprintf(&b, "  %s\n", item)
		}
	}
	return b.String()
}

// Paragraphs are the explanation in sentences, the headline first.
func (e Explanation) Paragraphs(command string) []Paragraph {
	ps := []Paragraph{{Text: e.headline()}}
	join := func(text string) { ps = append(ps, Paragraph{Text: text, Joined: true}) }
	list := func(text string, items []string) {
		if len(items) == 0 {
			return
		}
		for i := range items {
			items[i] = "- " + items[i]
		}
		ps = append(ps, Paragraph{Text: text, Items: items})
	}
	for _, text := range e.Warnings {
		join(fmt.Sprintf("Warning: %s.", strings.TrimSuffix(text, ".")))
	}
	if e.Step != "" && len(e.Refused) > 0 {
		join(fmt.Sprintf("It is on %s.", e.Step))
	}
	waits, held := e.waitsAndHeld()
	list("Sluice cannot continue:", sentences(e.Refused))
	list("The API server refuses these writes, and Sluice retries them every 30 seconds:", sentences(e.Denied))
	list("It is waiting for:", sentences(waits))
	list("Sluice holds back:", sentences(held))
	list("Pods that are not ready:", slices.Clone(e.Troubles))
	list("Under way:", slices.Clone(e.Running))
	if len(e.Now) > 0 {
		list("Sluice's controller would do this immediately:", sentences(e.Now))
		join("If this persists, the controller is not running, or another one manages this rollout.")
	}
	for _, f := range e.Next {
		items := sentences(f.Does)
		for _, w := range f.Waits {
			items = append(items, "then it waits: "+w.String())
		}
		list(f.headline(e.Time, command, e.Name), items)
	}
	if promises := e.promises(); len(promises) > 0 {
		p := Paragraph{Text: "What Sluice promises:"}
		for _, promise := range promises {
			p.Items = append(p.Items, fmt.Sprintf("[%s] %s", promise.Name, promise.Sentence))
		}
		ps = append(ps, p)
	}
	if len(e.Refused)+len(e.Denied)+len(e.Waits)+len(e.Now)+len(e.Next)+len(e.Running) == 0 {
		join("It is not waiting for anything. " + e.idle())
	}
	return ps
}

func sentences[T fmt.Stringer](all []T) []string {
	out := make([]string, len(all))
	for i, d := range all {
		out[i] = d.String()
	}
	return out
}

// waitsAndHeld splits the waits into those of the update itself and those that a promise holds back.
func (e Explanation) waitsAndHeld() (waits, held []Decision) {
	for _, d := range e.Waits {
		if d.Promise.Name == "" {
			waits = append(waits, d)
		} else {
			held = append(held, d)
		}
	}
	return waits, held
}

// promises returns the promises that hold something back now or will do so, each once.
func (e Explanation) promises() []change.Promise {
	all := slices.Clone(e.Waits)
	for _, f := range e.Next {
		all = append(all, f.Waits...)
	}
	var promises []change.Promise
	for _, d := range all {
		if d.Promise.Name != "" && !slices.Contains(promises, d.Promise) {
			promises = append(promises, d.Promise)
		}
	}
	return promises
}

func (e Explanation) headline() string {
	kind := "rollout"
	switch view.Strategy(e.Strategy) {
	case view.Canary:
		kind = "canary"
	case view.BlueGreen:
		kind = "blue-green rollout"
	}
	text := fmt.Sprintf("The %s '%s' is %s", kind, e.Name, e.Status)
	if message := e.message(); message != "" {
		text += ": " + strings.TrimSuffix(message, ".")
	}
	return text + "."
}

// message is the status message. If an analysis comes before the pods or the switch that the status mentions, it is the
// analysis instead.
func (e Explanation) message() string {
	switch e.Message {
	case "more replicas need to be updated", "active service cutover pending":
	default:
		return e.Message
	}
	for _, w := range e.Waits {
		what, name, _ := strings.Cut(w.Why, " ")
		if name, _, _ = strings.Cut(name, " is "); what == "analysis" || what == "experiment" {
			return "waiting for " + what + " " + name
		}
	}
	return e.Message
}

func (e Explanation) idle() string {
	switch e.Status {
	case "Degraded":
		return "A new template, or 'retry', starts an update."
	default:
		return "A new template starts an update."
	}
}

func (f Future) headline(now time.Time, command, name string) string {
	switch f.When {
	case WritesAccepted:
		return "As soon as the API server accepts them:"
	case TimePasses:
		return fmt.Sprintf("At %s, in %s, if nothing else happens first:", f.At.UTC().Format(time.RFC3339), view.Human(f.At.Sub(now)))
	case PodsAvailable:
		return "As soon as all pods are available:"
	case Promoted:
	}
	return fmt.Sprintf("As soon as someone promotes ('%s promote %s'):", command, name)
}

func (d Decision) String() string {
	text := d.What
	if d.Why != "" {
		text += ": " + d.Why
	}
	if d.Promise.Name != "" {
		text += " [" + d.Promise.Name + "]"
	}
	return text
}

func stepText(r view.Rollout, s *view.Step) string {
	return fmt.Sprintf("step %d of %d (%s)", r.StepsDone+1, len(r.Steps), s.Text)
}

// troubles lists the pods that are not ready, one line for each reason in each version.
func troubles(r view.Rollout) []string {
	var lines []string
	for _, rs := range r.ReplicaSets() {
		count, order := map[string]int{}, []string{}
		for _, p := range rs.Pods {
			if p.Status.Icon == view.IconHealthy {
				continue
			}
			text := p.Status.Text
			if p.Status.Message != "" {
				text += ", " + strings.Join(strings.Fields(p.Status.Message), " ")
			}
			if count[text] == 0 {
				order = append(order, text)
			}
			count[text]++
		}
		for _, text := range order {
			lines = append(lines, fmt.Sprintf("%d of %s: %s", count[text], rs.Name, text))
		}
	}
	return lines
}

// running lists the analyses and experiments that have not ended.
func running(r view.Rollout) []string {
	var lines []string
	for _, rev := range r.Revisions {
		for _, exp := range rev.Experiments {
			if !exp.Over() {
				lines = append(lines, exp.Line())
			}
		}
		for _, run := range rev.AnalysisRuns {
			if !run.Over() {
				lines = append(lines, run.Line())
				for _, m := range run.Metrics {
					lines = append(lines, m.Line())
				}
			}
		}
	}
	return lines
}
