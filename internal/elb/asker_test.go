package elb_test

import (
	"context"
	"encoding/pem"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/sluice-delivery/sluice/internal/elb"
	"github.com/sluice-delivery/sluice/internal/elb/elbtest"
)

func start(t *testing.T, state elbtest.State) (*elb.Asker, *elbtest.Account, *clocktesting.FakePassiveClock) {
	t.Helper()
	a := elbtest.New(t, state)
	clock := clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
	return elb.New(sdk.Config{
		Region: "eu-west-1", BaseEndpoint: &a.URL, Credentials: credentials.NewStaticCredentialsProvider("key", "secret", ""),
	}, clock), a, clock
}

func question(canary int32) elb.Question {
	return elb.Question{Namespace: "shop", Ingress: "web", Hosts: []string{elbtest.Host}, Targets: []elb.Target{{"web-canary", "80", canary}, {"web-stable", "80", 100 - canary}}}
}

var both = []string{"web-canary", "web-stable"}

// What load balancers do is told from the rules that forward to both versions.
func TestForwards(t *testing.T) {
	const differs = `to forward 20 to Service "web-canary", 80 to Service "web-stable"`
	for name, c := range map[string]struct {
		account elbtest.State
		host    string
		want    string // part of what is missing
		fails   string
	}{
		"as it should be":                        {account: elbtest.State{Tagged: both, Rules: []string{"web-canary=20 web-stable=80"}}},
		"next to a header route":                 {account: elbtest.State{Tagged: both, Rules: []string{"web-canary=100", "web-canary=20 web-stable=80"}}},
		"next to a rule for something else":      {account: elbtest.State{Tagged: both, Rules: []string{"web-canary=20 web-stable=80", "other=1"}}},
		"the weights before":                     {account: elbtest.State{Tagged: both, Rules: []string{"web-canary=10 web-stable=90"}}, want: differs},
		"two rules, one of them late":            {account: elbtest.State{Tagged: both, Rules: []string{"web-canary=20 web-stable=80", "web-canary=0 web-stable=100"}}, want: differs},
		"two rules, the first of them late":      {account: elbtest.State{Tagged: both, Rules: []string{"web-canary=0 web-stable=100", "web-canary=20 web-stable=80"}}, want: differs},
		"a third target group":                   {account: elbtest.State{Tagged: both, Rules: []string{"web-canary=20 web-stable=80 old=50"}}, want: differs},
		"the canary is in no rule yet":           {account: elbtest.State{Tagged: both, Rules: []string{"web-stable=100"}}, want: differs},
		"the canary has no target group":         {account: elbtest.State{Tagged: []string{"web-stable"}, Rules: []string{"web-stable=100"}}, want: `target group of Service "web-canary" and port 80`},
		"a load balancer that AWS does not know": {account: elbtest.State{Tagged: both}, host: "gone.example.com", want: "AWS to know the load balancer gone.example.com"},
		"no right to ask":                        {account: elbtest.State{Broken: true}, fails: "AccessDenied"},
		"one throttled request":                  {account: elbtest.State{Throttle: 1, Tagged: both, Rules: []string{"web-canary=20 web-stable=80"}}},
		"throttled all the time":                 {account: elbtest.State{Throttle: 1000}, fails: "Throttling"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := question(20)
			if c.host != "" {
				q.Hosts = append(q.Hosts, c.host)
				c.account.Rules = []string{"web-canary=20 web-stable=80"}
			}
			asker, _, _ := start(t, c.account)
			got, err := asker.Forwards(t.Context(), q)
			if (got.Missing == "") != (c.want == "") || !strings.Contains(got.Missing, c.want) || (err == nil) != (c.fails == "") || err != nil && !strings.Contains(err.Error(), c.fails) {
				t.Errorf("got %+v, %v", got, err)
			}
			if found := got.Balancer == elbtest.Balancer && got.Groups["web-canary"] == elbtest.Group("web-canary") && got.Groups["web-stable"] == elbtest.Group("web-stable"); got.Missing == "" && found == (c.fails != "") {
				t.Errorf("found %+v", got)
			}
		})
	}
}

// What hardly changes is asked once, and rules again after seconds. What was missing is looked for again.
func TestC13AsksAWSSparingly(t *testing.T) {
	asker, a, clock := start(t, elbtest.State{Tagged: []string{"web-stable"}, Rules: []string{"web-canary=20 web-stable=80"}})
	ask := func(missing bool, want string) {
		t.Helper()
		answer, err := asker.Forwards(t.Context(), question(20))
		got := answer.Missing
		asked := fmt.Sprintf("%d %d %d %d", a.Asked("DescribeLoadBalancers"), a.Asked("DescribeTargetGroups"), a.Asked("DescribeTags"), a.Asked("DescribeRules"))
		if err != nil || (got != "") != missing || asked != want {
			t.Errorf("%q, %v after %s requests, want %s", got, err, asked, want)
		}
	}
	ask(true, "2 2 1 0")
	ask(true, "2 2 1 0")
	a.Set(func(s *elbtest.State) { s.Tagged = both })
	clock.SetTime(clock.Now().Add(11 * time.Second))
	ask(false, "2 4 2 2")
	ask(false, "2 4 2 2")
	clock.SetTime(clock.Now().Add(6 * time.Second))
	ask(false, "2 4 2 4")
	clock.SetTime(clock.Now().Add(time.Minute))
	ask(false, "2 6 3 6")
}

// AWS that does not answer is an error when the time is over.
func TestNoAnswer(t *testing.T) {
	asker, _, _ := start(t, elbtest.State{Silent: true})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := asker.Forwards(ctx, question(20)); err == nil {
		t.Errorf("got %+v without an answer", got)
	}
}

// The process' own settings are those of all programs that use AWS, with the certificates of a proxy among them. Without a region there is an error that
// says what to set.
func TestOpen(t *testing.T) {
	a := elbtest.New(t, elbtest.State{Targets: map[string][]string{"arn:x": {"10.0.0.1:80"}}})
	proxy := httptest.NewTLSServer(a)
	t.Cleanup(proxy.Close)
	bundle := filepath.Join(t.TempDir(), "ca.pem")
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: proxy.Certificate().Raw})
	if err := os.WriteFile(bundle, certificate, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"AWS_CA_BUNDLE": bundle, "AWS_ENDPOINT_URL": proxy.URL, "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "", "AWS_DEFAULT_REGION": "", "AWS_CONFIG_FILE": os.DevNull,
		"AWS_SHARED_CREDENTIALS_FILE": os.DevNull, "AWS_EC2_METADATA_DISABLED": "true",
	} {
		t.Setenv(name, value)
	}
	if _, err := elb.Open(t.Context(), clock.RealClock{}); err == nil || !strings.Contains(err.Error(), "AWS_REGION") {
		t.Errorf("without a region: %v", err)
	}
	t.Setenv("AWS_REGION", "eu-west-1")
	asker, err := elb.Open(t.Context(), clock.RealClock{})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := asker.Unregistered(t.Context(), []elb.Group{{ARN: "arn:x", Service: "web", Addresses: []string{"10.0.0.1:80"}}}); err != nil || got != "" {
		t.Errorf("got %q, %v", got, err)
	}
}
