package check

import (
	"encoding/json"
	"os"
	"testing"
)

// TestFiguresArePrinted holds the page to the figures that make check wrote down, and the figures to the worlds as they are.
func TestFiguresArePrinted(t *testing.T) {
	figures, err := os.ReadFile("../../../hack/check/figures.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []Figure
	if err := json.Unmarshal(figures, &all); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../../docs/reliability.md")
	if err != nil {
		t.Fatal(err)
	}
	page, err := Page(string(text), all)
	if err != nil {
		t.Fatal(err)
	}
	if page != string(text) {
		t.Error("docs/reliability.md has another table than hack/check/figures.json: search the worlds that changed again (make check WORLD=name)")
	}
	for _, f := range all {
		if w := Named(f.World); w == nil || f.Bounds != w.contents()+" | "+w.bounds() {
			t.Errorf("the figure of world %s is of another world than there is now: make check WORLD=%s", f.World, f.World)
		}
	}
}
