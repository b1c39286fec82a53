package serve

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	for name, tc := range map[string]struct {
		image       string
		annotations map[string]string
		want        App
		serves      bool
		problem     string
	}{
		"another image":                          {image: "nginx:1.25"},
		"a good version":                         {image: Image + ":v2", want: App{Version: "v2"}, serves: true},
		"words of a tag":                         {image: Image + ":v2-err5-lat200ms-leak1m-start3s", want: App{Version: "v2-err5-lat200ms-leak1m-start3s", Errors: 0.05, Latency: 200 * time.Millisecond, Leak: time.Minute, Start: 3 * time.Second}, serves: true},
		"a word that only begins like one":       {image: Image + ":v2-errata", want: App{Version: "v2-errata"}, serves: true},
		"annotations overrule the tag":           {image: Image + ":v2-err5", annotations: map[string]string{ErrorsAnnotation: "0.5"}, want: App{Version: "v2-err5", Errors: 0.005}, serves: true},
		"an annotation that is not a percentage": {image: Image + ":v2", annotations: map[string]string{ErrorsAnnotation: "NaN"}, want: App{Version: "v2"}, serves: true, problem: `"NaN" is not a percentage`},
		"an annotation that is not a duration":   {image: Image + ":v2", annotations: map[string]string{LatencyAnnotation: "-1s"}, want: App{Version: "v2"}, serves: true, problem: `"-1s" is not a duration`},
	} {
		t.Run(name, func(t *testing.T) {
			got, serves, err := Parse(tc.image, tc.annotations)
			if diff := cmp.Diff(tc.want, got); diff != "" || serves != tc.serves {
				t.Errorf("serves %t (-want +got)\n%s", serves, diff)
			}
			if (err != nil) != (tc.problem != "") || err != nil && !strings.Contains(err.Error(), tc.problem) {
				t.Errorf("the problem is %v, want %q", err, tc.problem)
			}
		})
	}
}

// freePort is one that nobody listens on at 127.9.9.9.
func freePort(t *testing.T) int32 {
	l, err := net.Listen("tcp4", "127.9.9.9:0")
	if err != nil {
		t.Skipf("this machine has no 127.9.9.9: %v", err)
	}
	defer l.Close() //nolint:errcheck // nothing was sent
	return int32(l.Addr().(*net.TCPAddr).Port)
}

func get(url string) (version string, err error) {
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get(url)
	if err != nil {
		return "", err
	}
	defer response.Body.Close() //nolint:errcheck // read to its end
	_, err = io.Copy(io.Discard, response.Body)
	return response.Header.Get("X-Version"), err
}

// A server that is told to stop closes its port at once and answers what is under way; one that is killed answers nothing.
func TestLife(t *testing.T) {
	pods, port := NewPods(slog.New(slog.DiscardHandler)), freePort(t)
	key := Key{"uid", "container"}
	app := App{Version: "v1", Latency: 300 * time.Millisecond}
	if err := pods.Run(key, "web", "10.9.9.9", port, app); err != nil {
		t.Fatal(err)
	}
	if err := pods.Run(Key{"other", "container"}, "other", "10.9.9.9", port, app); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("a second server on the port: %v", err)
	}
	url := "http://" + net.JoinHostPort("127.9.9.9", itoa(port))
	slow := make(chan error, 1)
	begun := make(chan struct{})
	go func() {
		conn, err := net.Dial("tcp4", strings.TrimPrefix(url, "http://"))
		if err != nil {
			slow <- err
			close(begun)
			return
		}
		_, err = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: web\r\nConnection: close\r\n\r\n")
		time.AfterFunc(100*time.Millisecond, func() { close(begun) }) // the server has it by then, and answers later
		answer, readErr := io.ReadAll(conn)
		if err = errors.Join(err, readErr); err == nil && !strings.Contains(string(answer), "200 OK") {
			err = errors.New(string(answer))
		}
		slow <- err
	}()
	<-begun
	pods.Stop(key)
	for refused := false; !refused; {
		conn, err := net.Dial("tcp4", strings.TrimPrefix(url, "http://"))
		if refused = errors.Is(err, syscall.ECONNREFUSED); err == nil {
			_ = conn.Close()
		}
	}
	if err := <-slow; err != nil {
		t.Errorf("the request that was under way: %v", err)
	}
	pods.KillAll()
	if err := pods.Run(key, "web", "10.9.9.9", port, App{Version: "v2"}); err != nil {
		t.Fatalf("started again: %v", err)
	}
	if version, err := get(url); version != "v2" || err != nil {
		t.Errorf("version %q, %v", version, err)
	}
	pods.KillPod("uid")
	if _, err := get(url); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("after its end: %v", err)
	}
}

// The share of errors of a version that leaks grows until all fail.
func TestLeak(t *testing.T) {
	app := App{Errors: 0.1, Leak: time.Minute}
	for since, want := range map[time.Duration]float64{0: 0.1, 30 * time.Second: 0.5, time.Hour: 1} {
		if got := app.failing(since); got != want {
			t.Errorf("after %s %v fail, want %v", since, got, want)
		}
	}
}

func itoa(port int32) string {
	return (&net.TCPAddr{Port: int(port)}).String()[1:]
}
