package explore

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-delivery/sluice/internal/sim"
)

// recording is a history as data: the world, what people did and when, and what fate did that was out of the ordinary. Where a seed's history
// changes with what makes histories, this one does not.
type recording struct {
	// fault is what it found, and from how it came about: the flags of the seed's replay.
	fault, from string
	// caught are mutants that it finds.
	caught []string
	Trial
	podStart  time.Duration
	roundTrip bool
	alone     bool
	begins    []string
	moves     []act
	// meanwhiles are moves in the middle of a pass, which take their turn where there is occasion.
	meanwhiles []act
	end        time.Duration
	fates      []happening
	byKind     map[string][]happening
}

// move is something that people did.
type act struct {
	at   time.Duration
	name string
	acts []string
}

// happening is something that fate did.
type happening struct {
	at         time.Duration
	what, text string
}

func (r *recording) of(what string) []happening {
	if r.byKind == nil {
		r.byKind = map[string][]happening{}
		for _, f := range r.fates {
			r.byKind[f.what] = append(r.byKind[f.what], f)
		}
	}
	return r.byKind[what]
}

// trait is something that a world has or has not.
type trait struct {
	name string
	has  *bool
}

// traits are those of a trial that a recording keeps: it has its own moves, and what disorder there was.
func (t *Trial) traits() []trait {
	return []trait{{"routed", &t.Routed}, {"shell", &t.Shell}, {"standby", &t.Standby}, {"experiments", &t.Experiments}, {"hands", &t.Hands}, {"hostile", &t.Hostile}, {"plugins", &t.Plugins}, {"late", &t.Late}, {"all-routers", &t.AllRouters}}
}

// String is the text of a recording: see parseRecording.
func (r *recording) String() string {
	var out strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&out, format+"\n", args...) }
	line("fault %s", r.fault)
	if r.from != "" {
		line("from %s", r.from)
	}
	for _, mutant := range r.caught {
		line("catches %s", mutant)
	}
	var traits []string
	for _, t := range r.traits() {
		if *t.has {
			traits = append(traits, t.name)
		}
	}
	if r.roundTrip {
		traits = append(traits, "round-trip")
	}
	if r.alone {
		traits = append(traits, "alone")
	}
	line("world %s", strings.Join(append(traits, "pod-start="+r.podStart.String()), " "))
	line("\nbegins")
	for _, act := range r.begins {
		line("    %s", act)
	}
	tell := func(kind string, moves []act) {
		for _, m := range moves {
			line("\n%s %s %s", kind, m.at, m.name)
			for _, act := range m.acts {
				line("    %s", act)
			}
		}
	}
	tell("move", r.moves)
	line("\nends %s", r.end)
	tell("meanwhile", r.meanwhiles)
	if len(r.fates) > 0 {
		line("")
	}
	for _, f := range r.fates {
		line("fate %s %s: %s", f.at, f.what, f.text)
	}
	return out.String()
}

// parseRecording reads a recording. A line that is indented is an act of the move before it.
//
//	fault what it found
//	from the flags of the seed that it was recorded from
//	catches a mutant that it finds
//	world shell standby pod-start=3s
//
//	begins
//	    Create {...}
//
//	move 12.5s new image
//	    SetImage "v2"
//
//	ends 1m2s
//
//	fate 12.6s view: rollout=1
func parseRecording(text string) (*recording, error) {
	r := &recording{}
	var acts *[]string
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimRight(line, "\n")
		var err error
		switch act, indented := strings.CutPrefix(line, "    "); {
		case strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#"):
		case indented && acts == nil:
			err = fmt.Errorf("nobody acts yet")
		case indented:
			*acts = append(*acts, act)
		default:
			acts, err = r.read(line)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
	}
	return r, nil
}

// read reads a line that is not an act, and returns where those go that come after it.
func (r *recording) read(line string) (acts *[]string, err error) {
	word, rest, _ := strings.Cut(line, " ")
	switch word {
	case "fault":
		r.fault = rest
	case "from":
		r.from = rest
	case "catches":
		r.caught = append(r.caught, rest)
	case "world":
		err = r.readWorld(rest)
	case "begins":
		acts = &r.begins
	case "ends":
		r.end, err = time.ParseDuration(rest)
	case "move", "meanwhile":
		at, name, _ := strings.Cut(rest, " ")
		m := act{name: name}
		m.at, err = time.ParseDuration(at)
		into := &r.moves
		if word == "meanwhile" {
			into = &r.meanwhiles
		}
		*into = append(*into, m)
		acts = &(*into)[len(*into)-1].acts
	case "fate":
		at, what, _ := strings.Cut(rest, " ")
		f := happening{}
		f.at, err = time.ParseDuration(at)
		f.what, f.text, _ = strings.Cut(what, ": ")
		r.fates = append(r.fates, f)
	default:
		err = fmt.Errorf("%q begins no line", word)
	}
	return acts, err
}

func (r *recording) readWorld(text string) (err error) {
	for word := range strings.FieldsSeq(text) {
		name, value, _ := strings.Cut(word, "=")
		all := r.traits()
		i := slices.IndexFunc(all, func(t trait) bool { return t.name == name })
		switch {
		case i >= 0:
			*all[i].has = true
		case name == "round-trip":
			r.roundTrip = true
		case name == "alone":
			r.alone = true
		case name == "pod-start":
			r.podStart, err = time.ParseDuration(value)
		default:
			return fmt.Errorf("a world has no %q", name)
		}
	}
	return err
}

// trial plays the recording.
func (r *recording) trial() Trial {
	t := r.Trial
	t.replay, t.Moves, t.Without = r, nil, nil
	return t
}

// create creates the world, or the one of the recording.
func (h *history) create(o sim.Options) {
	if h.replay != nil {
		o.PodStart, o.RoundTrip = h.replay.podStart, h.replay.roundTrip
	}
	if r := h.fate.record; r != nil {
		r.Trial, r.from = h.Trial, h.flags()
		r.podStart, r.roundTrip = o.PodStart, o.RoundTrip
	}
	h.world = &people{World: sim.New(o)}
	h.world.approved = func() { h.rules.approved[h.world.Rollout().Status.CurrentPodHash] = true }
}

// begin furnishes the world, or does what was done when the recording began.
func (h *history) begin(furnish func()) {
	switch r := h.fate.record; {
	case h.replay != nil:
		h.act(h.replay.begins)
	case r != nil:
		h.world.acts = &r.begins
		furnish()
		h.world.acts = nil
	default:
		furnish()
	}
}

// noting records what a user does as a move. Once the history calms down there is nothing to record: the rest follows on its own.
func (h *history) noting(do func()) {
	r := h.fate.record
	if r == nil || h.calm {
		do()
		return
	}
	m, into := act{at: h.until, name: h.doing}, &r.moves
	if h.between {
		m.at, into = h.world.Elapsed(), &r.meanwhiles
	}
	h.world.acts = &m.acts
	do()
	h.world.acts = nil
	if n := len(r.moves); !h.between && n > 0 && r.moves[n-1].at == m.at && !h.ran { // nothing came between the two
		last := &r.moves[n-1]
		last.name, last.acts = last.name+" and "+m.name, append(last.acts, m.acts...)
		return
	}
	h.ran = h.ran && h.between
	*into = append(*into, m)
}

func (h *history) endRecording() {
	if r := h.fate.record; r != nil {
		r.end = h.until
	}
}

// playAgain has everything happen that the recording has.
func (h *history) playAgain(run func(time.Duration), user func(name string, do func())) {
	for _, m := range h.replay.moves {
		run(m.at - h.world.Elapsed())
		if h.fault != nil {
			return
		}
		user(strings.ToUpper(m.name), func() { h.act(m.acts) })
	}
	run(h.replay.end - h.world.Elapsed())
}

// interrupt is the next move that comes in the middle of a pass, if it is time.
func (h *history) interrupt(user func(name string, do func())) {
	if h.interrupts == len(h.replay.meanwhiles) {
		return
	}
	m := h.replay.meanwhiles[h.interrupts]
	if m.at > h.world.Elapsed() {
		return
	}
	h.interrupts++
	user("MEANWHILE "+m.name, func() { h.act(m.acts) })
}

func (h *history) act(lines []string) {
	for _, line := range lines {
		if err := h.world.again(line); err != nil {
			panic(err)
		}
	}
}
