package conformance

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluice-delivery/sluice/internal/traffic"
)

// Sessions is what keeps clients on a version in one place where traffic is split.
type Sessions struct {
	// Set is the cookie that the answers of each Service set, as the header Set-Cookie has it.
	Set map[string]string
	// To returns the Service that gets the requests with a header Cookie, "" if these are split by weight.
	To func(header string) string
}

// keepsClients: a client that has been served by a version goes there again, whatever the weights are, as long as both versions have traffic.
func keepsClients(t testing.TB, s Subject) {
	if s.Sessions == nil {
		t.Skip("it keeps nobody")
	}
	w := s.World(t)
	without := reach(t, s, w, split(0))
	for _, weight := range []int32{1, 60, 99, 0, 20, 100, 30} {
		want := split(weight)
		now := reach(t, s, w, want)
		checkSessions(t, s, want, now)
		if weight == 60 { // a GitOps tool restores what it knows
			broken := copied(now)
			for key := range now {
				broken[key].Object["spec"] = without[key].DeepCopy().Object["spec"]
			}
			w.Apply(t, now, broken)
			checkSessions(t, s, want, reach(t, s, w, want))
		}
	}
	next := split(40)
	next.Canary.Hash, next.Stable.Hash = "ccc", "bbb"
	checkSessions(t, s, next, reach(t, s, w, next))
	for _, hash := range []string{"", next.Stable.Hash} { // there is no other version
		next.Canary.Hash = hash
		checkSessions(t, s, next, reach(t, s, w, next))
	}
}

// checkSessions tries the cookies of both versions, those of other ones, and what is none.
func checkSessions(t testing.TB, s Subject, want traffic.Split, now traffic.Objects) {
	t.Helper()
	keeps := want.Canary.Weight > 0 && want.Canary.Weight < want.Max && want.Canary.Hash != "" && want.Canary.Hash != want.Stable.Hash
	places := s.Sessions(now)
	if len(places) != len(s.Weights(now)) {
		t.Fatalf("split %s: clients are kept in %d places, and split in %d", show(want), len(places), len(s.Weights(now)))
	}
	for _, place := range places {
		for _, version := range []traffic.Destination{want.Stable, want.Canary} {
			cookie, attributes, _ := strings.Cut(place.Set[version.Service], "; ")
			name, value, _ := strings.Cut(cookie, "=")
			if !keeps {
				if cookie != "" {
					t.Fatalf("split %s: %s sets the cookie %s", show(want), version.Service, cookie)
				}
				name, value = "sluice-web", version.Hash
			} else if value != version.Hash || name == "" || !strings.Contains(attributes, "Max-Age=600") {
				t.Fatalf("split %s: %s sets the cookie %q", show(want), version.Service, place.Set[version.Service])
			}
			tryCookie(t, want, place, name, value, map[bool]string{true: version.Service}[keeps])
		}
	}
}

func tryCookie(t testing.TB, want traffic.Split, place Sessions, name, value, service string) {
	t.Helper()
	mine := name + "=" + value
	for _, header := range []string{mine, "a=b; " + mine, mine + "; c=d", "a=b;" + mine + ";c=d"} {
		if to := place.To(header); to != service {
			t.Fatalf("split %s: requests with Cookie: %s go to %q", show(want), header, to)
		}
	}
	for _, header := range []string{"", "x" + mine, mine + "x", name + "=other", fmt.Sprintf("a=%s; b", mine), strings.Replace(mine, "-", "x", 1) + "; c=d"} {
		if to := place.To(header); to != "" && header != mine {
			t.Fatalf("split %s: requests with Cookie: %s go to %q", show(want), header, to)
		}
	}
}
