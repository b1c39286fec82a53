package live

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
	"k8s.io/utils/clock"

	"github.com/sluice-delivery/sluice/internal/view"
)

// Screen is where a Rollout is shown.
type Screen struct {
	Out   io.Writer
	Clock clock.WithTicker
	// Size is the terminal's, read again for each picture. Nil: not a terminal.
	Size func() (columns, rows int)
	// Colors says whether colors are allowed.
	Colors bool
	// LinesOnly leaves the picture out that otherwise comes first into a pipe.
	LinesOnly bool
}

// NewScreen is a terminal if out is one. Colors are used on terminals only, and not under NO_COLOR.
func NewScreen(out io.Writer, noColor bool) Screen {
	s := Screen{Out: out, Clock: clock.RealClock{}}
	file, ok := out.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return s
	}
	s.Size = func() (int, int) {
		columns, rows, err := term.GetSize(int(file.Fd()))
		if err != nil || columns <= 0 || rows <= 0 {
			return 80, 24
		}
		return columns, rows
	}
	s.Colors = !noColor && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	return s
}

// Terminal tells whether the screen is one.
func (s Screen) Terminal() bool { return s.Size != nil }

// Print shows the Rollout or the Experiment once, as high as it is.
func (s Screen) Print(o view.Objects) error {
	options := view.TextOptions{Colors: s.Colors}
	if s.Terminal() {
		options.Width, _ = s.Size()
	}
	_, err := io.WriteString(s.Out, view.Look(o, s.Clock.Now()).Text(options))
	return err
}

// What a terminal is told.
const (
	home         = "\x1b[H"
	eraseToRight = "\x1b[K"
	eraseBelow   = "\x1b[J"
	hideCursor   = "\x1b[?25l"
	showCursor   = "\x1b[?25h"
)

// settle is how long changes are collected before they are shown: what happens together arrives on several watches.
const settle = 50 * time.Millisecond

// Show shows the Rollout as it changes, until done says that it is enough, or ctx ends, which is reported as its error.
func (s Screen) Show(ctx context.Context, sights <-chan Sight, done func(view.Rollout) bool) error {
	return s.show(ctx, sights, func(p view.Picture) bool {
		r, ok := p.(view.Rollout)
		return ok && done(r)
	})
}

// Watch shows what is followed as it changes until ctx ends, which is reported as its error.
func (s Screen) Watch(ctx context.Context, sights <-chan Sight) error {
	return s.show(ctx, sights, func(view.Picture) bool { return false })
}

func (s Screen) show(ctx context.Context, sights <-chan Sight, done func(view.Picture) bool) error {
	if s.Terminal() {
		return s.draw(ctx, sights, done)
	}
	return s.log(ctx, sights, done)
}

// draw keeps one picture on the terminal up to date, each drawn over the one before so that nothing flickers. What was on the
// terminal scrolls up and stays readable there; the last picture stays where it is.
func (s Screen) draw(ctx context.Context, sights <-chan Sight, done func(view.Picture) bool) error {
	_, rows := s.Size()
	if _, err := io.WriteString(s.Out, strings.Repeat("\n", rows-1)+hideCursor); err != nil {
		return err
	}
	defer io.WriteString(s.Out, showCursor) //nolint:errcheck // nothing can be done for a terminal that is gone
	second := s.Clock.NewTicker(time.Second)
	defer second.Stop()

	var last Sight
	for {
		select {
		case <-ctx.Done():
			_, _ = io.WriteString(s.Out, "\n") // below the ^C that the terminal shows
			return ctx.Err()
		case sight, open := <-sights:
			if !open {
				return ctx.Err()
			}
			if sight.Gone {
				return last.gone()
			}
			last = sight
		case <-second.C(): // ages and countdowns
		}
		if last.Objects.Rollout == nil && last.Objects.Experiment == nil {
			continue
		}
		p := view.Look(last.Objects, s.Clock.Now())
		if err := s.picture(p, last.Trouble); err != nil {
			return err
		}
		if done(p) {
			return nil
		}
		s.settle(ctx)
	}
}

// Begin makes room for pictures that are shown with Put; end shows the cursor again.
func (s Screen) Begin() (end func(), err error) {
	if !s.Terminal() {
		return func() {}, nil
	}
	_, rows := s.Size()
	_, err = io.WriteString(s.Out, strings.Repeat("\n", rows-1)+hideCursor)
	return func() { _, _ = io.WriteString(s.Out, showCursor) }, err
}

// Put shows a picture in the place of the one before. Into a pipe goes a line that says what has happened.
func (s Screen) Put(p view.Picture, happened string) error {
	if s.Terminal() {
		return s.picture(p, nil)
	}
	return s.line(happened)
}

func (s Screen) picture(p view.Picture, trouble error) error {
	columns, rows := s.Size()
	rows-- // the cursor waits below
	var below string
	if trouble != nil {
		below = "No news: " + strings.Join(strings.Fields(trouble.Error()), " ")
		below = string([]rune(below)[:min(len([]rune(below)), columns)]) + "\n"
		rows--
	}
	text := p.Text(view.TextOptions{Width: columns, Height: max(rows, 1), Colors: s.Colors}) + below
	_, err := io.WriteString(s.Out, home+strings.ReplaceAll(text, "\n", eraseToRight+"\n")+eraseBelow)
	return err
}

// log writes the picture once, and then a line whenever something has happened.
func (s Screen) log(ctx context.Context, sights <-chan Sight, done func(view.Picture) bool) error {
	var (
		last, trouble string
		seen          Sight
		first         = true
	)
	for {
		var sight Sight
		select {
		case <-ctx.Done():
			return ctx.Err()
		case next, open := <-sights:
			if !open {
				return ctx.Err()
			}
			sight = next
		}
		if sight.Gone {
			return seen.gone()
		}
		seen = sight
		p := view.Look(sight.Objects, s.Clock.Now())
		line := p.Summary()
		if sight.Trouble == nil {
			trouble = ""
		}
		switch {
		case sight.Trouble != nil && sight.Trouble.Error() != trouble:
			trouble = sight.Trouble.Error()
			if err := s.line("no news: " + trouble); err != nil {
				return err
			}
		case first && !s.LinesOnly:
			last = line
			if err := s.Print(sight.Objects); err != nil {
				return err
			}
			if _, err := fmt.Fprintln(s.Out); err != nil {
				return err
			}
		case line != last:
			last = line
			if err := s.line(line); err != nil {
				return err
			}
		}
		first = false
		if done(p) {
			return nil
		}
		s.settle(ctx)
	}
}

func (s Screen) line(text string) error {
	_, err := fmt.Fprintf(s.Out, "%s  %s\n", s.Clock.Now().Format(time.TimeOnly), strings.ReplaceAll(text, "\n", " "))
	return err
}

func (s Screen) settle(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-s.Clock.After(settle):
	}
}
