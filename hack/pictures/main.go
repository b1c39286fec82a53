// Command pictures draws the timelines of the documentation: of each manifest in the folder that it is given, with the scenario of the same
// name if there is one, what sluice simulate shows.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/sluice-delivery/sluice/internal/cli"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: pictures FOLDER")
		os.Exit(2)
	}
	if err := drawAll(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "pictures:", err)
		os.Exit(1)
	}
}

func drawAll(folder string) error {
	manifests, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil {
		return err
	}
	var failures []error
	for _, manifest := range manifests {
		failures = append(failures, draw(strings.TrimSuffix(manifest, ".yaml")))
	}
	return errors.Join(failures...)
}

// draw makes NAME.svg of NAME.yaml and NAME.txt.
func draw(name string) error {
	args := []string{"sluice", "simulate", "-f", name + ".yaml", "-o", "svg"}
	switch _, err := os.Stat(name + ".txt"); {
	case err == nil:
		args = append(args, "--scenario", name+".txt")
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	var picture, problems bytes.Buffer
	if code := cli.Run(context.Background(), args, cli.Streams{In: strings.NewReader(""), Out: &picture, Err: &problems}); code != 0 {
		return fmt.Errorf("%s: %s", name, problems.String())
	}
	return os.WriteFile(name+".svg", picture.Bytes(), 0o644)
}
