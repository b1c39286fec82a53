// Package elbtest is AWS as far as tests need it.
package elbtest

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// Host is the name of the load balancer of an [Account].
const Host = "web-1.eu-west-1.elb.amazonaws.com"

// Balancer is its ARN.
const Balancer = "arn:aws:elasticloadbalancing:eu-west-1:1:loadbalancer/app/web/50dc6c495c0c9188"

// Group is the ARN of the target group of a Service.
func Group(service string) string {
	return "arn:aws:elasticloadbalancing:eu-west-1:1:targetgroup/" + service + "/1"
}

// Account is AWS with one load balancer, as the Query API of Elastic Load Balancing (2015-12-01) answers: in pages, with errors where it throttles
// or fails.
type Account struct {
	// URL is where it answers.
	URL string

	mu    sync.Mutex
	asked map[string]int
	state State
}

// State is what an [Account] has, and how it answers.
type State struct {
	// Ingress is that to which the load balancer belongs, as NAMESPACE/NAME, "shop/web" by default.
	Ingress string
	// Rules have the ForwardConfig of each rule, as SERVICE=WEIGHT, and Tagged the Services whose target groups have tags.
	Rules, Tagged []string
	// Targets are what is registered in target groups, by their ARNs, as HOST:PORT and its state, "healthy" by default.
	Targets map[string][]string
	// Throttle is how many requests are refused first.
	Throttle       int
	Broken, Silent bool
}

// New starts an account, which ends with the test.
func New(t testing.TB, state State) *Account {
	t.Helper()
	a := &Account{asked: map[string]int{}, state: state}
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	a.URL = server.URL
	return a
}

// Set changes what the account has.
func (a *Account) Set(edit func(*State)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	edit(&a.state)
}

// Asked is how often an action was asked for.
func (a *Account) Asked(action string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.asked[action]
}

// ServeHTTP implements [http.Handler].
func (a *Account) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	action := r.Form.Get("Action")
	a.mu.Lock()
	a.asked[action]++
	state := a.state
	state.Targets = maps.Clone(state.Targets) // tests change it meanwhile
	if state.Throttle > 0 {
		a.state.Throttle--
	}
	a.mu.Unlock()
	switch {
	case state.Silent:
		<-r.Context().Done()
		return
	case state.Throttle > 0:
		refuse(w, http.StatusBadRequest, "Throttling", "Rate exceeded")
		return
	case state.Broken:
		refuse(w, http.StatusForbidden, "AccessDenied", "not authorized")
		return
	}
	arn := r.Form.Get("TargetGroupArn")
	if _, known := state.Targets[arn]; action == "DescribeTargetHealth" && !known {
		refuse(w, http.StatusBadRequest, "TargetGroupNotFound", "One or more target groups not found")
		return
	}
	_, _ = fmt.Fprintf(w, `<%[1]sResponse xmlns="http://elasticloadbalancing.amazonaws.com/doc/2015-12-01/"><%[1]sResult>%[2]s</%[1]sResult></%[1]sResponse>`, action, state.answer(action, r.Form.Get("Marker"), arn))
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `<ErrorResponse><Error><Type>Sender</Type><Code>%s</Code><Message>%s</Message></Error><RequestId>1</RequestId></ErrorResponse>`, code, message)
}

func (s State) answer(action, marker, arn string) string {
	switch {
	case action == "DescribeLoadBalancers" && marker == "":
		return `<LoadBalancers><member><LoadBalancerArn>arn:lb/other</LoadBalancerArn><DNSName>other.example.com</DNSName></member></LoadBalancers><NextMarker>2</NextMarker>`
	case action == "DescribeLoadBalancers":
		return `<LoadBalancers><member><LoadBalancerArn>` + Balancer + `</LoadBalancerArn><DNSName>` + strings.ToUpper(Host[:1]) + Host[1:] + `</DNSName></member></LoadBalancers>`
	case action == "DescribeTargetGroups" && marker == "":
		return `<TargetGroups><member><TargetGroupArn>` + Group("web-stable") + `</TargetGroupArn></member></TargetGroups><NextMarker>2</NextMarker>`
	case action == "DescribeTargetGroups":
		return `<TargetGroups><member><TargetGroupArn>` + Group("web-canary") + `</TargetGroupArn></member></TargetGroups>`
	case action == "DescribeTags":
		var out strings.Builder
		for _, service := range s.Tagged {
			fmt.Fprintf(&out, `<member><ResourceArn>%[3]s</ResourceArn><Tags><member><Key>team</Key><Value>x</Value></member><member><Key>ingress.k8s.aws/resource</Key><Value>%[2]s-%[1]s:80</Value></member></Tags></member>`, service, cmp.Or(s.Ingress, "shop/web"), Group(service))
		}
		return "<TagDescriptions>" + out.String() + "</TagDescriptions>"
	case action == "DescribeListeners":
		return `<Listeners><member><ListenerArn>arn:listener/1</ListenerArn></member></Listeners>`
	case action == "DescribeRules":
		var out strings.Builder
		for i, rule := range s.Rules {
			if first := marker == ""; first != (i == 0) { // one on the first page
				continue
			}
			out.WriteString(`<member><Actions><member><Type>forward</Type><ForwardConfig><TargetGroups>`)
			for group := range strings.FieldsSeq(rule) {
				service, weight, _ := strings.Cut(group, "=")
				fmt.Fprintf(&out, `<member><TargetGroupArn>%s</TargetGroupArn><Weight>%s</Weight></member>`, Group(service), weight)
			}
			out.WriteString(`</TargetGroups></ForwardConfig></member></Actions></member>`)
		}
		if marker == "" {
			return "<Rules>" + out.String() + "</Rules><NextMarker>2</NextMarker>"
		}
		return "<Rules>" + out.String() + "</Rules>"
	case action == "DescribeTargetHealth":
		var out strings.Builder
		for _, target := range s.Targets[arn] {
			address, health, _ := strings.Cut(target, " ")
			host, port, _ := net.SplitHostPort(address)
			if health == "" {
				health = "healthy"
			}
			fmt.Fprintf(&out, `<member><Target><Id>%s</Id><Port>%s</Port></Target><TargetHealth><State>%s</State></TargetHealth></member>`, host, port, health)
		}
		return "<TargetHealthDescriptions>" + out.String() + "</TargetHealthDescriptions>"
	}
	return "<unknown/>"
}
