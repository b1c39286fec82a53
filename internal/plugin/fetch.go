package plugin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	// mostBytes is how large a binary may be, and longestDownload how long it may take to arrive.
	mostBytes       = 512 << 20
	longestDownload = 5 * time.Minute
	// mostRedirects is how often a server may send us elsewhere.
	mostRedirects = 10
)

// fetch has the binary of a plugin at its place, verified, and returns the path. A file that is there already, with the checksum that is asked
// for, is not fetched again.
func (h *Host) fetch(ctx context.Context, id ID, e Entry) (string, error) {
	path, err := filepath.Abs(filepath.Join(h.settings.Dir, string(id.Kind), filepath.FromSlash(id.Name)))
	if err != nil {
		return "", err
	}
	if e.SHA256 != "" && digestOf(path) == strings.ToLower(e.SHA256) {
		return path, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", fmt.Errorf("make room for the binary: %w; the controller needs a volume that it may write to", err)
	}
	limit := h.settings.LongestDownload
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errSlow)
	defer cancel()
	err = h.fetchTo(ctx, path, e)
	if err != nil && errors.Is(context.Cause(ctx), errSlow) {
		return "", fmt.Errorf("%s has not sent all of the binary within %s: choose a server that is closer, or a file:// location on a volume of the controller", e.from(), limit)
	}
	return path, err
}

// errSlow is why a download was ended that took too long.
var errSlow = errors.New("the download takes too long")

func (h *Host) fetchTo(ctx context.Context, path string, e Entry) error {
	from, err := h.open(ctx, e)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	return install(from, path, e, mostBytes)
}

// install writes a binary next to its place, verifies it, and only then puts it there.
func install(from io.Reader, path string, e Entry, most int64) error {
	to, err := os.CreateTemp(filepath.Dir(path), ".fetched-*")
	if err != nil {
		return err
	}
	defer func() {
		_ = to.Close()
		_ = os.Remove(to.Name())
	}()
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(to, sum), io.LimitReader(from, most+1))
	switch {
	case err != nil:
		return fmt.Errorf("fetch %s: %w", e.from(), err)
	case n > most:
		return fmt.Errorf("%s is larger than %d MiB: is it a plugin?", e.from(), most>>20)
	case n == 0:
		return fmt.Errorf("%s is empty", e.from())
	}
	if got := hex.EncodeToString(sum.Sum(nil)); e.SHA256 != "" && got != strings.ToLower(e.SHA256) {
		return fmt.Errorf("sha256 hash of downloaded plugin (%s) does not match expected hash (%s): correct sha256, or the file at %s", got, e.SHA256, e.from())
	}
	if err := errors.Join(to.Chmod(0o700), to.Sync(), to.Close()); err != nil {
		return err
	}
	return os.Rename(to.Name(), path)
}

// digestOf is the checksum of a file, empty if it cannot be read.
func digestOf(path string) string {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = file.Close() }()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return ""
	}
	return hex.EncodeToString(sum.Sum(nil))
}

func (h *Host) open(ctx context.Context, e Entry) (io.ReadCloser, error) {
	u, err := url.Parse(e.Location)
	if err != nil {
		return nil, err
	}
	if u.Scheme == "file" {
		path := filepath.FromSlash(u.Host + u.Path) // file://./plugin has the dot for a host
		info, err := os.Stat(path)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", e.Location, err)
		}
		if !info.Mode().IsRegular() { // a pipe would never end
			return nil, fmt.Errorf("%s is no file", e.Location)
		}
		return os.Open(path)
	}
	return h.download(ctx, e)
}

func (h *Host) download(ctx context.Context, e Entry) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, e.Location, nil)
	if err != nil {
		return nil, err
	}
	if err := h.addHeaders(ctx, request, e); err != nil {
		return nil, err
	}
	client := http.Client{CheckRedirect: redirected}
	response, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("failed to download file from %s: %w", e.from(), err)
	}
	if response.StatusCode < 200 || response.StatusCode >= 300 {
		_ = response.Body.Close()
		return nil, fmt.Errorf("failed to download file from %s: response code %s", e.from(), response.Status)
	}
	return response.Body, nil
}

// redirected keeps credentials from servers that they are not for.
func redirected(next *http.Request, before []*http.Request) error {
	first := before[0]
	if len(before) >= mostRedirects {
		return errors.New("too many redirects")
	}
	if next.URL.Host != first.URL.Host || next.URL.Scheme != first.URL.Scheme {
		for name := range first.Header {
			next.Header.Del(name)
		}
	}
	return nil
}

func (h *Host) addHeaders(ctx context.Context, request *http.Request, e Entry) error {
	for _, from := range e.HeadersFrom {
		values, err := h.settings.ReadSecret(ctx, from.SecretRef.Name)
		if err != nil {
			return fmt.Errorf("failed to get secret in secretRef %q: %w", from.SecretRef.Name, err)
		}
		for name, value := range values {
			request.Header.Set(name, strings.TrimSpace(value))
		}
	}
	return nil
}
