package controller

import (
	"context"
	"net/http/httptest"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/cache"
)

// filling is a cache that is filled, or not yet.
type filling struct {
	cache.Cache
	full bool
}

func (f filling) WaitForCacheSync(context.Context) bool { return f.full }

func TestAControllerWithoutCachesIsNotReady(t *testing.T) {
	request := httptest.NewRequestWithContext(t.Context(), "GET", "/readyz", nil)
	if err := synced(filling{full: false})(request); err == nil {
		t.Error("ready while the caches fill")
	}
	if err := synced(filling{full: true})(request); err != nil {
		t.Errorf("not ready with full caches: %v", err)
	}
}
