package elb_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/sluice-delivery/sluice/internal/elb"
)

// account is AWS with one load balancer, as the Query API of Elastic Load Balancing (2015-12-01) answers: in pages, with errors where it throttles
// or fails.
type account struct {
	mu       sync.Mutex
	asked    map[string]int
	rules    []string // the ForwardConfig of each, as service=weight
	tagged   []string // the Services whose target groups have tags
	throttle int      // requests to refuse first
	broken   bool
	silent   bool
}

const host = "web-1.eu-west-1.elb.amazonaws.com"

func (a *account) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	action := r.Form.Get("Action")
	a.mu.Lock()
	a.asked[action]++
	throttled, broken, silent := a.throttle > 0, a.broken, a.silent
	if throttled {
		a.throttle--
	}
	a.mu.Unlock()
	switch {
	case silent:
		<-r.Context().Done()
		return
	case throttled:
		w.WriteHeader(http.StatusBadRequest)
		_, _ = fmt.Fprint(w, `<ErrorResponse><Error><Type>Sender</Type><Code>Throttling</Code><Message>Rate exceeded</Message></Error><RequestId>1</RequestId></ErrorResponse>`)
		return
	case broken:
		w.WriteHeader(http.StatusForbidden)
		_, _ = fmt.Fprint(w, `<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>not authorized</Message></Error><RequestId>1</RequestId></ErrorResponse>`)
		return
	}
	_, _ = fmt.Fprintf(w, `<%[1]sResponse xmlns="http://elasticloadbalancing.amazonaws.com/doc/2015-12-01/"><%[1]sResult>%[2]s</%[1]sResult></%[1]sResponse>`, action, a.answer(action, r.Form.Get("Marker"), r.Form))
}

func (a *account) answer(action, marker string, form map[string][]string) string {
	switch {
	case action == "DescribeLoadBalancers" && marker == "":
		return `<LoadBalancers><member><LoadBalancerArn>arn:lb/other</LoadBalancerArn><DNSName>other.example.com</DNSName></member></LoadBalancers><NextMarker>2</NextMarker>`
	case action == "DescribeLoadBalancers":
		return `<LoadBalancers><member><LoadBalancerArn>arn:lb/web</LoadBalancerArn><DNSName>` + strings.ToUpper(host[:1]) + host[1:] + `</DNSName></member></LoadBalancers>`
	case action == "DescribeTargetGroups" && marker == "":
		return `<TargetGroups><member><TargetGroupArn>arn:tg/web-stable</TargetGroupArn></member></TargetGroups><NextMarker>2</NextMarker>`
	case action == "DescribeTargetGroups":
		return `<TargetGroups><member><TargetGroupArn>arn:tg/web-canary</TargetGroupArn></member></TargetGroups>`
	case action == "DescribeTags":
		var out strings.Builder
		for _, service := range a.tagged {
			fmt.Fprintf(&out, `<member><ResourceArn>arn:tg/%[1]s</ResourceArn><Tags><member><Key>team</Key><Value>x</Value></member><member><Key>ingress.k8s.aws/resource</Key><Value>shop/web-%[1]s:80</Value></member></Tags></member>`, service)
		}
		return "<TagDescriptions>" + out.String() + "</TagDescriptions>"
	case action == "DescribeListeners":
		return `<Listeners><member><ListenerArn>arn:listener/1</ListenerArn></member></Listeners>`
	case action == "DescribeRules":
		var out strings.Builder
		for i, rule := range a.rules {
			if first := marker == ""; first != (i == 0) { // one on the first page
				continue
			}
			out.WriteString(`<member><Actions><member><Type>forward</Type><ForwardConfig><TargetGroups>`)
			for group := range strings.FieldsSeq(rule) {
				service, weight, _ := strings.Cut(group, "=")
				fmt.Fprintf(&out, `<member><TargetGroupArn>arn:tg/%s</TargetGroupArn><Weight>%s</Weight></member>`, service, weight)
			}
			out.WriteString(`</TargetGroups></ForwardConfig></member></Actions></member>`)
		}
		if marker == "" {
			return "<Rules>" + out.String() + "</Rules><NextMarker>2</NextMarker>"
		}
		return "<Rules>" + out.String() + "</Rules>"
	}
	return fmt.Sprintf("<unknown>%v</unknown>", form)
}

func start(t *testing.T, a *account) (*elb.Asker, *clocktesting.FakePassiveClock) {
	t.Helper()
	a.asked = map[string]int{}
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	clock := clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
	return elb.New(sdk.Config{
		Region: "eu-west-1", BaseEndpoint: &server.URL, Credentials: credentials.NewStaticCredentialsProvider("key", "secret", ""),
	}, clock), clock
}

func question(canary int32) elb.Question {
	return elb.Question{Namespace: "shop", Ingress: "web", Hosts: []string{host}, Targets: []elb.Target{{"web-canary", "80", canary}, {"web-stable", "80", 100 - canary}}}
}

var both = []string{"web-canary", "web-stable"}

// What load balancers do is told from the rules that forward to both versions.
func TestMissing(t *testing.T) {
	const differs = `to forward 20 to Service "web-canary", 80 to Service "web-stable"`
	for name, c := range map[string]struct {
		account *account
		host    string
		want    string // part of what is missing
		fails   string
	}{
		"as it should be":                        {account: &account{tagged: both, rules: []string{"web-canary=20 web-stable=80"}}},
		"next to a header route":                 {account: &account{tagged: both, rules: []string{"web-canary=100", "web-canary=20 web-stable=80"}}},
		"next to a rule for something else":      {account: &account{tagged: both, rules: []string{"web-canary=20 web-stable=80", "other=1"}}},
		"the weights before":                     {account: &account{tagged: both, rules: []string{"web-canary=10 web-stable=90"}}, want: differs},
		"two rules, one of them late":            {account: &account{tagged: both, rules: []string{"web-canary=20 web-stable=80", "web-canary=0 web-stable=100"}}, want: differs},
		"two rules, the first of them late":      {account: &account{tagged: both, rules: []string{"web-canary=0 web-stable=100", "web-canary=20 web-stable=80"}}, want: differs},
		"a third target group":                   {account: &account{tagged: both, rules: []string{"web-canary=20 web-stable=80 old=50"}}, want: differs},
		"the canary is in no rule yet":           {account: &account{tagged: both, rules: []string{"web-stable=100"}}, want: differs},
		"the canary has no target group":         {account: &account{tagged: []string{"web-stable"}, rules: []string{"web-stable=100"}}, want: `target group of Service "web-canary" and port 80`},
		"a load balancer that AWS does not know": {account: &account{tagged: both}, host: "gone.example.com", want: "AWS to know the load balancer gone.example.com"},
		"no right to ask":                        {account: &account{broken: true}, fails: "AccessDenied"},
		"one throttled request":                  {account: &account{throttle: 1, tagged: both, rules: []string{"web-canary=20 web-stable=80"}}},
		"throttled all the time":                 {account: &account{throttle: 1000}, fails: "Throttling"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asker, _ := start(t, c.account)
			q := question(20)
			if c.host != "" {
				q.Hosts = append(q.Hosts, c.host)
				c.account.rules = []string{"web-canary=20 web-stable=80"}
			}
			got, err := asker.Missing(t.Context(), q)
			if (got == "") != (c.want == "") || !strings.Contains(got, c.want) || (err == nil) != (c.fails == "") || err != nil && !strings.Contains(err.Error(), c.fails) {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

// What hardly changes is asked once, and rules again after seconds. What was missing is looked for again.
func TestC13AsksAWSSparingly(t *testing.T) {
	a := &account{tagged: []string{"web-stable"}, rules: []string{"web-canary=20 web-stable=80"}}
	asker, clock := start(t, a)
	ask := func(missing bool, want string) {
		t.Helper()
		got, err := asker.Missing(t.Context(), question(20))
		asked := fmt.Sprintf("%d %d %d %d", a.asked["DescribeLoadBalancers"], a.asked["DescribeTargetGroups"], a.asked["DescribeTags"], a.asked["DescribeRules"])
		if err != nil || (got != "") != missing || asked != want {
			t.Errorf("%q, %v after %s requests, want %s", got, err, asked, want)
		}
	}
	ask(true, "2 2 1 0")
	ask(true, "2 2 1 0")
	a.tagged = both
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
	asker, _ := start(t, &account{silent: true})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := asker.Missing(ctx, question(20)); err == nil {
		t.Errorf("got %q without an answer", got)
	}
}
