package playtest

import (
	"flag"
	"runtime"
	"strconv"
	"sync"
)

// seats are for tests that are busy: more than there are processors, since they mostly wait for pods, and no more, since then pods would
// be waited for in vain. A test that only lets time pass leaves its seat to another.
var seats = &room{}

// room is a number of seats, and those who wait for one, in order.
type room struct {
	mu      sync.Mutex
	free    int
	waiting [turns][]chan struct{}
}

// turn is who comes before whom.
type turn int

const (
	back  turn = iota // a test that had a seat: it is to come to its end
	early             // one that takes minutes on any machine, which pass while others are busy
	late
	turns
)

// offerSeats lets all tests start, unless -parallel sets a number, and limits how many of them are busy to that.
func offerSeats() {
	flag.Parse()
	parallel := flag.Lookup("test.parallel")
	seats.free = 8 * runtime.GOMAXPROCS(0)
	if parallel.Value.String() == parallel.DefValue {
		_ = parallel.Value.Set("1000") // a number is what it takes
	} else if n, err := strconv.Atoi(parallel.Value.String()); err == nil {
		seats.free = n
	}
}

// sit waits for a seat.
func (r *room) sit(when turn) {
	r.mu.Lock()
	if r.free > 0 {
		r.free--
		r.mu.Unlock()
		return
	}
	called := make(chan struct{})
	r.waiting[when] = append(r.waiting[when], called)
	r.mu.Unlock()
	<-called
}

// stand leaves the seat, to the one whose turn it is.
func (r *room) stand() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for when, queue := range r.waiting {
		if len(queue) > 0 {
			r.waiting[when] = queue[1:]
			close(queue[0])
			return
		}
	}
	r.free++
}
