package fair

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
)

// TestPlacesGoRoundByTenant: who has a hundred that wait does not keep one of another tenant waiting for all of them.
func TestPlacesGoRoundByTenant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		places := NewPlaces(1, 1)
		if err := places.Take(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		got := make(chan string)
		wait := func(ctx context.Context, tenant string) {
			go func() {
				if places.Take(ctx, tenant) == nil {
					got <- tenant
				}
			}()
			synctest.Wait()
		}
		ctx, cancel := context.WithCancel(t.Context())
		for _, tenant := range []string{"a", "a", "a", "b", "a", "c", "b"} {
			wait(t.Context(), tenant)
		}
		wait(ctx, "d")
		cancel()
		synctest.Wait()
		if n := places.waiting.Len(); n != 7 {
			t.Errorf("%d wait when one of 8 has given up", n)
		}
		var order []string
		last := "a"
		for range 7 {
			places.Give(last)
			last = <-got
			order = append(order, last)
		}
		places.Give(last)
		if diff := cmp.Diff([]string{"a", "b", "c", "a", "b", "a", "a"}, order); diff != "" {
			t.Errorf("the turns (-want +got):\n%s", diff)
		}
		if n := places.waiting.Len(); places.taken != 0 || n > 0 {
			t.Errorf("%d are taken, and %d wait, when all are done", places.taken, n)
		}
	})
}
