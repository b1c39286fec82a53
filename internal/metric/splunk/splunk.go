package splunk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
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
	now := p.Clock.Now()
	asked := url.Values{
		"start": {strconv.FormatInt(now.Add(-window).UnixMilli(), 10)}, "stop": {strconv.FormatInt(now.UnixMilli(), 10)}, "immediate": {"true"},
	}
	question := fmt.Sprintf("program `%s` from %s to %s at %s", strings.Join(strings.Fields(m.Program), " "),
		now.Add(-window).UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339), server.Place(address))
	answer, err := server.Ask(ctx, server.Question{
		Options: server.Options{
			URL: server.At(address, "/v2/signalflow/execute?"+asked.Encode()), Memory: r.Memory, Network: p.Network,
			Headers: []v1alpha1.WebMetricHeader{{Key: "X-SF-Token", Value: token}, {Key: "Content-Type", Value: "text/plain"}},
		},
		Method: http.MethodPost, Body: []byte(m.Program), Timeout: timeout,
	})
	switch {
	case err != nil:
		return metric.Reading{}, fmt.Errorf("%s: %w", question, err)
	case !answer.OK():
		return metric.Reading{}, fmt.Errorf("%s: %w", question, answer.Refusal())
	}
	values, err := parse(answer)
	switch {
	case errors.Is(err, errNone):
		return r.Nothing(question, err)
	case err != nil:
		return metric.Reading{}, fmt.Errorf("%s: %w", question, err)
	}
	texts := make([]string, len(values))
	for i, value := range values {
		texts[i] = strconv.FormatFloat(value, 'f', -1, 64)
	}
	return metric.Measured(question, values, "["+strings.Join(texts, ",")+"]"), nil
}

// realmName is what may become a part of the address.
var realmName = regexp.MustCompile(`^[a-z0-9]+$`)

// account is where to ask, and as whom.
func account(ctx context.Context, r metric.Request, profile string) (address, token string, err error) {
	secret, err := r.Keys.Secret(ctx, "", profile)
	if err != nil {
		return "", "", err
	}
	address, token = strings.TrimSpace(secret["address"]), strings.TrimSpace(secret["access-token"])
	r.Keys.Hide(token)
	realm := strings.TrimSpace(secret["realm"])
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
