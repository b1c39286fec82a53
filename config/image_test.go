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
	for program, i := range map[string]image{
		"sluice-controller": {file: "Dockerfile", ports: "8080 8090", main: "./cmd/sluice-controller"},
		"sluice-dashboard":  {file: "Dockerfile.dashboard", ports: "3100", main: "./cmd/sluice-dashboard"},
		"sluice-notifier":   {file: "Dockerfile.notifier", ports: "8080 8090", module: "notifier", main: "."},
	} {
		t.Run(program, func(t *testing.T) { testImage(t, program, i) })
	}
}

// image of a program: its Dockerfile, its ports, and its main package in the folder of its module.
type image struct{ file, ports, module, main string }

func testImage(t *testing.T, program string, i image) {
	text, err := os.ReadFile(filepath.Join(playtest.Root(), i.file))
	if err != nil {
		t.Fatal(err)
	}
	build, last, ok := strings.Cut(string(text), "FROM gcr.io/distroless/static:nonroot@sha256:")
	if !ok {
		t.Fatal("the image is not made of distroless/static:nonroot")
	}
	for _, line := range []string{"USER 65532:65532\n", `ENTRYPOINT ["/` + program + `"]`, "EXPOSE " + i.ports + "\n"} {
		if !strings.Contains(last, line) {
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
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Module}}{{if or .Main .Replace}}{{$.Dir}}{{end}}{{end}}", i.main)
	list.Dir = filepath.Join(playtest.Root(), i.module)
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
