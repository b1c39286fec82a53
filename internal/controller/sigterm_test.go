package controller_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/sluice-delivery/sluice/internal/playtest"
)

// A controller that is to stop does not wait for a measurement: it exits in order, and the next one measures again.
func TestSIGTERMWhileAMeasurementIsSlow(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	var asked atomic.Int32
	free := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) > 1 {
			_, _ = w.Write([]byte("1")) // nobody may be there to read it
			return
		}
		select {
		case <-free:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(func() { close(free); server.Close() })
	ns.StartController()
	createRun(t, ns, "run", `{metrics: [{name: a, successCondition: result == 1, provider: {web: {url: "`+server.URL+`", timeoutSeconds: 60}}}]}`)
	ns.WaitUntil("the measurement to be in flight", func() error {
		if asked.Load() == 0 {
			return errors.New("the server was not asked")
		}
		return nil
	})
	ns.SignalController(syscall.SIGTERM)
	if status := ns.WaitForControllerToExit(); status != 0 { // -1 where it had to be killed, 1 where passes went on for too long
		t.Fatalf("the controller ended with the status %d", status)
	}
	ns.StartController()
	if run := ns.WaitForAnalysisRun("run", "to end", hasEnded); run.Status.Phase != "Successful" {
		t.Errorf("the run ended %s: %s", run.Status.Phase, run.Status.Message)
	}
}
