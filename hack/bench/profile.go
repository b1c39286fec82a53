//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
)

// profile takes profiles of the controller's processor time, five seconds each, until finish is called. `go tool pprof` adds them up.
func (f *field) profile(c *process, name string) (finish func()) {
	if f.wishes.profile == "" {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for i := 0; ctx.Err() == nil; i++ {
			path := filepath.Join(f.wishes.profile, fmt.Sprintf("%s-%02d.pprof", name, i))
			if err := saveProfile("http://"+c.pprof+"/debug/pprof/profile?seconds=5", path); err != nil {
				progress("profile: %v", err)
				return
			}
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

func saveProfile(url, path string) error {
	response, err := http.Get(url)
	if err != nil {
		return err
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, response.Status)
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	if _, err := io.Copy(file, response.Body); err != nil {
		return err
	}
	return file.Close()
}
