package docs_test

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-delivery/sluice/internal/manifests"
)

// patience is how long all commands of a page may take together.
const patience = 5 * time.Minute

// The commands of the first part of getting-started.md do what they are said to, as they stand there.
func TestGettingStarted(t *testing.T) {
	run(t, "getting-started.md", "step 4 of 4 (pause): until someone promotes it", "rollout 'example-rollout' is degraded", "SetWeight needs to be between 0 and 100", "promoted after")
}

// The plugins that plugins/your-own.md writes are built and carry out a Rollout, as it stands there.
func TestYourOwnPlugin(t *testing.T) {
	run(t, "plugins/your-own.md", "waiting for approval", "weight 20\n", "weight 60\n", "plugin=example/approval", "plugin=example/budget", "plugin=example/weights")
}

// run runs all commands of a page.
func run(t *testing.T, of string, printed ...string) {
	t.Helper()
	bin := os.Getenv("SLUICE_BIN")
	if bin == "" {
		build := exec.CommandContext(t.Context(), "make", "-s", "build")
		build.Dir = manifests.Root()
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("make build: %v\n%s", err, out)
		}
		bin = filepath.Join(manifests.Root(), "bin")
	}
	page, err := os.ReadFile(of)
	if err != nil {
		t.Fatal(err)
	}
	script := commands(string(page))
	if strings.Count(script, "\n") < 20 {
		t.Fatalf("the page has hardly any commands:\n%s", script)
	}
	script = strings.ReplaceAll(script, "bin/sluice", filepath.Join(bin, "sluice"))

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", script)
	cmd.Dir, cmd.Env = manifests.Root(), append(os.Environ(), "TMPDIR="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	end := func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.Cancel, cmd.WaitDelay = end, 10*time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	if err != nil {
		_ = end() // what the page would have ended
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, want := range printed {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the commands never printed %q:\n%s", want, out.String())
		}
	}
}

// commands are those in the blocks of a page that are marked as shell.
func commands(page string) string {
	var script strings.Builder
	for _, block := range regexp.MustCompile("(?ms)^```sh\n(.*?)^```$").FindAllStringSubmatch(page, -1) {
		script.WriteString(block[1])
	}
	return script.String()
}

// Every link from one page to another leads somewhere, to a heading too, and every page is found from the list of them.
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#: ]*)(?:#([^) ]*))?\)`)
	linked := map[string]bool{"docs/README.md": true}
	root := manifests.Root()
	var pages []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "testdata" || d.Name() == "bin") {
			return filepath.SkipDir
		}
		if filepath.Ext(path) != ".md" {
			return nil
		}
		page, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		pages = append(pages, page)
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, found := range link.FindAllStringSubmatch(string(text), -1) {
			target := filepath.Join(filepath.Dir(path), found[1])
			if found[1] == "" {
				target = path
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s, which is not there", page, found[1])
			}
			if found[2] != "" && !anchors(t, target)[found[2]] {
				t.Errorf("%s links to #%s of %s, which has no such heading", page, found[2], found[1])
			}
			if target, err := filepath.Rel(root, target); err == nil {
				linked[target] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		if strings.HasPrefix(page, "docs/") && !linked[page] {
			t.Errorf("no page links to %s", page)
		}
	}
}

// anchors are the headings of a page, as links name them.
func anchors(t *testing.T, page string) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]bool{}
	for _, heading := range regexp.MustCompile(`(?m)^#+ +(.+)$`).FindAllStringSubmatch(string(text), -1) {
		bare := regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(heading[1]), "")
		all[strings.ReplaceAll(bare, " ", "-")] = true
	}
	return all
}
