package playtest

import (
	"flag"
	"runtime"
	"strconv"
)

// seats are for tests that are busy: more than there are processors, since they mostly wait for pods, and no more, since then pods would
// be waited for in vain. A test that only lets time pass leaves its seat to another.
var seats chan struct{}

// offerSeats lets many tests begin, unless -parallel says how many, and so many of them be busy.
func offerSeats() {
	flag.Parse()
	parallel := flag.Lookup("test.parallel")
	busy := 3 * runtime.GOMAXPROCS(0)
	if parallel.Value.String() == parallel.DefValue {
		_ = parallel.Value.Set(strconv.Itoa(8 * busy)) // a number is what it takes
	} else if n, err := strconv.Atoi(parallel.Value.String()); err == nil {
		busy = n
	}
	seats = make(chan struct{}, busy)
}

func sit()   { seats <- struct{}{} }
func stand() { <-seats }
