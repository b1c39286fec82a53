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

// The images have all that their programs are built from, and run them as nobody in particular. Whether the base images are what they are
// said to be, no test here can tell.
func TestImage(t *testing.T) {
	for program, image := range map[string]struct{ file, ports string }{
		"sluice-controller": {"Dockerfile", "8080 8090"}, "sluice-dashboard": {"Dockerfile.dashboard", "3100"},
	} {
		t.Run(program, func(t *testing.T) { testImage(t, program, image.file, image.ports) })
	}
}

func testImage(t *testing.T, program, file, ports string) {
	text, err := os.ReadFile(filepath.Join(playtest.Root(), file))
	if err != nil {
		t.Fatal(err)
	}
	build, image, ok := strings.Cut(string(text), "FROM gcr.io/distroless/static:nonroot@sha256:")
	if !ok {
		t.Fatal("the image is not made of distroless/static:nonroot")
	}
	for _, line := range []string{"USER 65532:65532\n", `ENTRYPOINT ["/` + program + `"]`, "EXPOSE " + ports + "\n"} {
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
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Module}}{{if .Main}}{{$.Dir}}{{end}}{{end}}", "./cmd/"+program)
	list.Dir = playtest.Root()
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	folders := strings.Fields(string(out))
	if len(folders) < 10 {
		t.Fatalf("%s is built from %d packages only", program, len(folders))
	}
	for _, folder := range folders {
		path, err := filepath.Rel(playtest.Root(), folder)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(copied, func(c string) bool { return path == c || strings.HasPrefix(path, c+"/") }) {
			t.Errorf("%s is built from %s, which its Dockerfile does not copy", program, path)
		}
	}
}
