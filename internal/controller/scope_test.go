package controller

import (
	"net/http/httptest"
	"testing"
)

func TestAControllerWithoutCachesIsNotReady(t *testing.T) {
	request := httptest.NewRequestWithContext(t.Context(), "GET", "/readyz", nil)
	caches := &filled{}
	if err := caches.Check(request); err == nil {
		t.Error("ready while the caches fill")
	}
	if caches.NeedLeaderElection() {
		t.Error("a standby is never ready")
	}
	if err := caches.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := caches.Check(request); err != nil {
		t.Errorf("not ready with full caches: %v", err)
	}
}
