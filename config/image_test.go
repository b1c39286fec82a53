package config_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-delivery/sluice/internal/playtest"
)

// The image has all that the controller is built from, and runs it as nobody in particular. Whether the base images are what they are
// said to be, no test here can tell.
func TestImage(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(playtest.Root(), "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	build, image, ok := strings.Cut(string(text), "FROM gcr.io/distroless/static:nonroot@sha256:")
	if !ok {
		t.Fatal("the image is not made of distroless/static:nonroot")
	}
	for _, line := range []string{"USER 65532:65532\n", `ENTRYPOINT ["/sluice-controller"]`, "EXPOSE 8080 8090\n"} {
		if !strings.Contains(image, line) {
			t.Errorf("the image lacks %s", line)
		}
	}
	var copied []string
	for _, found := range regexp.MustCompile(`(?m)^COPY (\S+) (\S+)$`).FindAllStringSubmatch(build, -1) {
		if found[1] != found[2] {
			t.Errorf("%s is copied to %s, which is another path than in the module", found[1], found[2])
		}
		copied = append(copied, found[1])
	}
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Module}}{{if .Main}}{{$.Dir}}{{end}}{{end}}", "./cmd/sluice-controller")
	list.Dir = playtest.Root()
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	folders := strings.Fields(string(out))
	if len(folders) < 10 {
		t.Fatalf("the controller is built from %d packages only", len(folders))
	}
	for _, folder := range folders {
		path, err := filepath.Rel(playtest.Root(), folder)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(copied, func(c string) bool { return path == c || strings.HasPrefix(path, c+"/") }) {
			t.Errorf("the controller is built from %s, which the Dockerfile does not copy", path)
		}
	}
}
