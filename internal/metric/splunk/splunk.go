package splunk

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"time"

	"k8s.io/utils/clock"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/metric"
	"github.com/sluice-delivery/sluice/internal/metric/server"
)

const (
	defaultProfile  = "splunk-observability"
	defaultInterval = 5 * time.Minute
	timeout         = 30 * time.Second
)

// Provider runs programs.
type Provider struct {
	Clock   clock.PassiveClock
	Network *server.Network
}

// Measure runs the program over a time that has passed, so that it ends.
func (p Provider) Measure(ctx context.Context, r metric.Request) (metric.Reading, error) {
	m := r.Metric.Provider.SplunkObservability
	window, err := metric.Window("interval", m.Interval, defaultInterval)
	if err != nil {
		return metric.Reading{}, err
	}
	address, token, err := account(ctx, r, cmp.Or(m.Profile, defaultProfile))
	if err != nil {
		return metric.Reading{}, err
	}
	span := metric.Last(window, p.Clock.Now())
	asked := url.Values{
		"start": {strconv.FormatInt(span.From.UnixMilli(), 10)}, "stop": {strconv.FormatInt(span.To.UnixMilli(), 10)}, "immediate": {"true"},
	}
	question := fmt.Sprintf("program `%s` %s at %s", metric.OneLine(m.Program), span, server.Place(address))
	answer, err := server.Succeed(ctx, server.Question{
		Options: server.Options{
			URL: server.At(address, "/v2/signalflow/execute?"+asked.Encode()), Memory: r.Memory, Network: p.Network,
			Headers: []v1alpha1.WebMetricHeader{{Key: "X-SF-Token", Value: token}, {Key: "Content-Type", Value: "text/plain"}},
		},
		Method: http.MethodPost, Body: []byte(m.Program), Timeout: timeout,
	})
	var values []float64
	if err == nil {
		values, err = parse(answer)
	}
	return r.Conclude(question, values, metric.Numbers(values), err)
}

// realmName is what may become a part of the address.
var realmName = regexp.MustCompile(`^[a-z0-9]+$`)

// account is where to ask, and as whom.
func account(ctx context.Context, r metric.Request, profile string) (address, token string, err error) {
	secret, err := r.Profile(ctx, profile, "access-token")
	if err != nil {
		return "", "", err
	}
	address, token = secret["address"], secret["access-token"]
	realm := secret["realm"]
	switch {
	case token == "":
		return "", "", fmt.Errorf("access token not found: Secret %q needs the keys access-token and realm", profile)
	case address != "":
		return address, token, nil
	case !realmName.MatchString(realm):
		return "", "", fmt.Errorf("realm %q of Secret %q is not a realm: write for example us1", realm, profile)
	}
	return "https://stream." + realm + ".signalfx.com", token, nil
}
