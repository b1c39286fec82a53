package note

import "github.com/sluice-delivery/sluice/internal/traffic"

// Pair are the Services between which a Rollout splits what an object sends to both, while the canary has a part. The router that releases the object
// when no spec names it tells by them which Service gets everything.
type Pair struct {
	Stable string `json:"stable,omitempty"`
	Canary string `json:"canary,omitempty"`
}

// PairOf is what to note of a split, empty if the canary has no part.
func PairOf(want traffic.Split) Pair {
	if want.Canary.Weight == 0 || want.Stable.Service == "" {
		return Pair{}
	}
	return Pair{want.Stable.Service, want.Canary.Service}
}

// ToStable gives the sum of the weights of both Services to the first entry for the stable one, and none to the others. It changes nothing where
// no entry is for the stable Service. A weight that cannot be read counts as none; where there is no weight at all, the stable Service gets whole.
func (p Pair) ToStable(entries map[string][]map[string]any, weightOf func(map[string]any) (int64, bool), whole int64) {
	if p.Stable == "" || p.Stable == p.Canary || len(entries[p.Stable]) == 0 {
		return
	}
	total := int64(0)
	for _, service := range []string{p.Stable, p.Canary} {
		for _, entry := range entries[service] {
			if weight, ok := weightOf(entry); ok && weight <= mostWeight {
				total += weight
			}
		}
	}
	if total == 0 {
		total = whole
	}
	for _, service := range []string{p.Stable, p.Canary} {
		for _, entry := range entries[service] {
			if read, ok := weightOf(entry); !ok || read != total {
				entry["weight"] = total
			}
			total = 0
		}
	}
}

// mostWeight is more than anyone gives an entry, so that sums do not overflow.
const mostWeight = 1 << 31
