package explore

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/sim"
	"github.com/sluice-delivery/sluice/internal/sim/shell"
)

// fate makes the choices of the world, by random numbers or from a recording. A recording holds only what is out of the ordinary, each with
// its time: it happens at the first occasion from then on.
type fate struct {
	dice shell.Dice
	now  func() time.Duration
	calm func() bool
	// record is what is being recorded, and replay what is being played again; nil for none.
	record, replay *recording
	// played is how many of each kind have come, ordinary what came in this instant that was not worth a line.
	played, ordinary map[string]int
	at               time.Duration
}

var _ shell.Fate = &fate{}

// draw makes a choice that is ordinary more often than not.
func draw[T comparable](f *fate, what string, ordinary T, encode func(T) string, decode func(string) (T, error), throw func() T) T {
	if f.replay != nil {
		text, ok := f.next(what)
		if !ok {
			return ordinary
		}
		v, err := decode(text)
		if err != nil {
			panic(fmt.Sprintf("%s %s %q: %v", f.now(), what, text, err)) // a test of recordings decodes them all
		}
		return v
	}
	v := throw()
	if f.record != nil {
		f.note(what, v == ordinary, encode(ordinary), encode(v))
	}
	return v
}

// note records a choice. An ordinary one is worth a line only if one in the same instant that comes after it is not.
func (f *fate) note(what string, isOrdinary bool, ordinary, text string) {
	now := f.now()
	if f.at != now || f.ordinary == nil {
		f.at, f.ordinary = now, map[string]int{}
	}
	if isOrdinary {
		f.ordinary[what]++
		return
	}
	for range f.ordinary[what] {
		f.record.fates = append(f.record.fates, happening{now, what, ordinary})
	}
	delete(f.ordinary, what)
	f.record.fates = append(f.record.fates, happening{now, what, text})
}

// next is the next choice of a kind, if its time has come.
func (f *fate) next(what string) (string, bool) {
	if f.played == nil {
		f.played = map[string]int{}
	}
	of := f.replay.of(what)
	n := f.played[what]
	for f.calm() && n < len(of) && of[n].at < f.replay.end {
		n++ // it found no occasion, and the disorder is over
	}
	f.played[what] = n
	if n == len(of) || of[n].at > f.now() {
		return "", false
	}
	f.played[what]++
	return of[n].text, true
}

func number(what string) (int, error) { return strconv.Atoi(what) }

// Happens is the shell's.
func (f *fate) Happens(what string, chance int) bool {
	return draw(f, what, false, strconv.FormatBool, strconv.ParseBool, func() bool { return f.dice.Happens(what, chance) })
}

// UpTo is the shell's.
func (f *fate) UpTo(what string, longest time.Duration) time.Duration {
	return f.time(what, func() time.Duration { return f.dice.UpTo(what, longest) })
}

// OneOf is the shell's.
func (f *fate) OneOf(what string, n int) int {
	return min(n-1, draw(f, what, 0, strconv.Itoa, number, func() int { return f.dice.OneOf(what, n) }))
}

// Order is the shell's. What is recorded is what each is swapped with, from the last one to the second, or nothing where all stay.
func (f *fate) Order(what string, n int, swap func(i, j int)) {
	if n < 2 {
		return
	}
	text := func(text string) string { return text }
	swaps := draw(f, what, "", text, func(text string) (string, error) { return text, nil }, func() string {
		stay, swaps := true, []string{}
		f.dice.Order(what, n, func(i, j int) {
			stay, swaps = stay && i == j, append(swaps, strconv.Itoa(j))
		})
		if stay {
			return ""
		}
		return strings.Join(swaps, " ")
	})
	for at, with := range strings.Fields(swaps) {
		if j, err := strconv.Atoi(with); err == nil && at < n-1 {
			swap(n-1-at, min(j, n-1-at))
		}
	}
}

func (f *fate) time(what string, throw func() time.Duration) time.Duration {
	return draw(f, what, 0, time.Duration.String, time.ParseDuration, throw)
}

func (f *fate) view(what string, throw func() sim.View) sim.View {
	return draw(f, what, sim.View{}, encodeView, decodeView, throw)
}

// field is one of a view's.
type field struct {
	name string
	back *int
}

func viewFields(v *sim.View) []field {
	return []field{
		{"rollout", &v.Rollout},
		{"replicasets", &v.ReplicaSets},
		{"services", &v.Services},
		{"routes", &v.Routes},
		{"analysisruns", &v.AnalysisRuns},
		{"experiments", &v.Experiments},
	}
}

func encodeView(v sim.View) string {
	var text []string
	for _, f := range viewFields(&v) {
		if *f.back != 0 {
			text = append(text, fmt.Sprintf("%s=%d", f.name, *f.back))
		}
	}
	if text == nil {
		return "fresh"
	}
	return strings.Join(text, " ")
}

func decodeView(text string) (v sim.View, err error) {
	if text == "fresh" {
		return v, nil
	}
	for word := range strings.FieldsSeq(text) {
		name, n, _ := strings.Cut(word, "=")
		all := viewFields(&v)
		i := slices.IndexFunc(all, func(f field) bool { return f.name == name })
		if i < 0 {
			return v, fmt.Errorf("a view has no %q", name)
		}
		if *all[i].back, err = strconv.Atoi(n); err != nil {
			return v, err
		}
	}
	return v, nil
}

// verdict is how something ends that is judged, and when.
type verdict struct {
	phase v1alpha1.AnalysisPhase
	after time.Duration
}

func (f *fate) verdict(what string, throw func() verdict) verdict {
	return draw(f, what, verdict{v1alpha1.AnalysisPhaseSuccessful, 0},
		func(v verdict) string { return string(v.phase) + " " + v.after.String() },
		func(text string) (verdict, error) {
			phase, after, _ := strings.Cut(text, " ")
			d, err := time.ParseDuration(after)
			return verdict{v1alpha1.AnalysisPhase(phase), d}, err
		}, throw)
}
