package plugin

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A file that is too large, or empty, is not installed, and what is there stays.
func TestInstall(t *testing.T) {
	const most = 4 << 20
	for size, want := range map[int]string{0: "is empty", most: "", most + 1: "is larger than 4 MiB"} {
		path := filepath.Join(t.TempDir(), "plugin")
		if err := os.WriteFile(path, []byte("was there"), 0o600); err != nil {
			t.Fatal(err)
		}
		err := install(bytes.NewReader(make([]byte, size)), path, Entry{Location: "https://example.com/plugin"}, most)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%d bytes: %v, want %q", size, err, want)
		}
		info, statErr := os.Stat(path)
		if statErr != nil || err == nil && info.Mode().Perm() != 0o700 || err != nil && info.Size() != int64(len("was there")) {
			t.Errorf("%d bytes: %v, %v", size, info, statErr)
		}
		if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".fetched-*")); len(left) > 0 {
			t.Errorf("%d bytes: %q is left", size, left)
		}
	}
}

// What docs/plugins.md says of downloads is so where nobody has set another limit.
func TestTheLimitOfDownloads(t *testing.T) {
	if limit := NewHost(t.Context(), Settings{}).settings.LongestDownload; limit != 5*time.Minute || mostBytes != 512<<20 {
		t.Errorf("a download may take %s and %d bytes", limit, mostBytes)
	}
	page, err := os.ReadFile("../../docs/plugins.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), "A download is limited to 512 MiB and five minutes") {
		t.Error("docs/plugins.md names other limits")
	}
}
