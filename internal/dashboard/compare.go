package dashboard

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/sluice-delivery/sluice/internal/cli/act"
	"github.com/sluice-delivery/sluice/internal/view"
)

// compareData is what is different between two versions.
type compareData struct {
	Root, Namespace, Name string
	From, To              int64
	Revisions             []view.Revision
	Lines                 []diffLine
	Error                 string
}

// diffLine is a line of a unified diff: Kind is add, del, at, or nothing.
type diffLine struct{ Kind, Text string }

// comparePage shows what is different between two revisions, read with the rights of who asks.
func (s *Server) comparePage(w http.ResponseWriter, r *http.Request, id identity) {
	name := named(r)
	o, ok := s.objects(r.Context(), id.person, name)
	if !ok {
		s.missing(w, r, "rollout", name)
		return
	}
	d := compareData{Root: s.path(), Namespace: name.Namespace, Name: name.Name, Revisions: view.Of(o, s.Clock.Now()).Revisions}
	for field, into := range map[string]*int64{"from": &d.From, "to": &d.To} {
		if text := r.URL.Query().Get(field); text != "" {
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil || n < 0 {
				s.refuse(w, r, problem{http.StatusBadRequest, field + "=" + strconv.Quote(text) + " must be the number of a revision."})
				return
			}
			*into = n
		}
	}
	before, after, err := act.Compared(r.Context(), id.person.in(name.Namespace), name.Name, d.From, d.To)
	if err == nil {
		d.From, d.To = numberIn(before.Name, d.From), numberIn(after.Name, d.To)
		var text string
		if text, err = act.Difference(before, after); err == nil {
			d.Lines = diffLines(text)
		}
	}
	if err != nil {
		d.Error = err.Error()
	}
	s.write(w, http.StatusOK, "compare", layout{Title: "Compare revisions of " + name.Name, Person: id.person.Name, session: id.session}, d)
}

// numberIn is the revision that was chosen where none was asked for.
func numberIn(version string, asked int64) int64 {
	if asked > 0 {
		return asked
	}
	number, _, _ := strings.Cut(strings.TrimPrefix(version, "revision "), " ")
	n, _ := strconv.ParseInt(number, 10, 64) // a version without a revision is none in the list
	return n
}

func diffLines(text string) []diffLine {
	var lines []diffLine
	for line := range strings.Lines(text) {
		kind := ""
		switch {
		case strings.HasPrefix(line, "@@"), strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"):
			kind = "at"
		case strings.HasPrefix(line, "+"):
			kind = "add"
		case strings.HasPrefix(line, "-"):
			kind = "del"
		}
		lines = append(lines, diffLine{kind, strings.TrimSuffix(line, "\n")})
	}
	return lines
}
