package docs_test

import (
	"os"
	"strings"
	"testing"

	"github.com/sluice-delivery/sluice/internal/plan/move"
)

// TestPromises holds reliability.md to the promises of the engine, word for word.
func TestPromises(t *testing.T) {
	page, err := os.ReadFile("reliability.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range move.Promises {
		if row := "| " + p.Name + " | " + p.Sentence + " |"; !strings.Contains(string(page), row) {
			t.Errorf("reliability.md has no row %q", row)
		}
	}
}
