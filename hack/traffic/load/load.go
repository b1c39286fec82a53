package load

import (
	"context"
	"maps"
	"net/http"
	"sync"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"
)

// Options of the load.
type Options struct {
	// URL of the target, and the Host that is asked for; empty for that of the URL.
	URL, Host string
	// Header of each request besides.
	Header http.Header
	// Rate is how many requests are sent in a second.
	Rate int
	// Timeout of a request. Default 30 s: a machine with more to do than it can answers late, and loses nothing.
	Timeout time.Duration
}

// workers are the most connections that wait for an answer at once: beyond them requests are late, and the ledger says so.
const workers = 512

// Run sends requests until ctx ends: half of them over connections that stay open, half over new ones. What came back goes into the ledger. It
// returns when the last answer has come or its time is over.
func Run(ctx context.Context, o Options, into *Ledger) {
	if o.Timeout == 0 {
		o.Timeout = 30 * time.Second
	}
	var all sync.WaitGroup
	for i, keep := range []bool{true, false} {
		rate := o.Rate / 2
		if i == 0 {
			rate = o.Rate - rate
		}
		if rate > 0 {
			all.Go(func() { attack(ctx, o, rate, keep, into) })
		}
	}
	all.Wait()
}

func attack(ctx context.Context, o Options, rate int, keep bool, into *Ledger) {
	attacker := vegeta.NewAttacker(vegeta.KeepAlive(keep), vegeta.Timeout(o.Timeout), vegeta.MaxWorkers(workers), vegeta.Redirects(vegeta.NoFollow), vegeta.HTTP2(false))
	header := http.Header{}
	maps.Copy(header, o.Header)
	if o.Host != "" {
		header.Set("Host", o.Host) // vegeta takes it for the request's Host
	}
	targeter := vegeta.NewStaticTargeter(vegeta.Target{Method: http.MethodGet, URL: o.URL, Header: header})
	stop := context.AfterFunc(ctx, func() { attacker.Stop() })
	defer stop()
	for result := range attacker.Attack(targeter, vegeta.Rate{Freq: rate, Per: time.Second}, 0, "") {
		into.add(result)
	}
}
