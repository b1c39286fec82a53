package server_test

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/sluice-delivery/sluice/internal/metric/server"
)

func TestReach(t *testing.T) {
	ranges := func(texts ...string) []netip.Prefix {
		all, err := server.ParseRanges(texts)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	byDefault := server.Reach{}
	for address, c := range map[string]struct {
		reach server.Reach
		want  string
	}{
		"10.1.2.3":               {byDefault, ""},
		"192.168.0.1":            {byDefault, ""},
		"fd12::1":                {byDefault, ""},
		"93.184.216.34":          {byDefault, ""},
		"64:ff9b::5db8:d822":     {byDefault, ""},
		"127.0.0.1":              {byDefault, "this machine"},
		"127.8.9.1":              {byDefault, "this machine"},
		"0.0.0.0":                {byDefault, "this machine"},
		"::":                     {byDefault, "this machine"},
		"::1":                    {byDefault, "this machine"},
		"169.254.169.254":        {byDefault, "metadata service"},
		"::ffff:169.254.169.254": {byDefault, "metadata service"},
		"::169.254.169.254":      {byDefault, "metadata service"},
		"64:ff9b::a9fe:a9fe":     {byDefault, "metadata service"},
		"64:ff9b:1::a9fe:a9fe":   {byDefault, "metadata service"},
		"2002:a9fe:a9fe::1":      {byDefault, "metadata service"},
		"fd00:ec2::254":          {byDefault, "metadata service"},
		"100.100.100.200":        {byDefault, "metadata service"},
		"168.63.129.16":          {byDefault, "metadata service"},
		"fe80::1%eth0":           {byDefault, "link-local"},
		"224.0.0.1":              {byDefault, "reserved"},
		"255.255.255.255":        {byDefault, "reserved"},
		"ff02::1":                {byDefault, "reserved"},
		"127.0.0.2":              {server.Reach{Allow: ranges("127.0.0.0/8")}, ""},
		"::ffff:127.0.0.2":       {server.Reach{Allow: ranges("127.0.0.0/8")}, ""},
		"10.9.9.9":               {server.Reach{Deny: ranges("10.0.0.0/8")}, "--analysis-deny-cidrs"},
		"::ffff:10.9.9.9":        {server.Reach{Deny: ranges("10.0.0.0/8")}, "--analysis-deny-cidrs"},
		"127.0.0.3":              {server.Reach{Allow: ranges("127.0.0.0/8"), Deny: ranges("127.0.0.3/32")}, "--analysis-deny-cidrs"},
	} {
		err := c.reach.Check(netip.MustParseAddr(address))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", address, err, c.want)
		}
	}
	if _, err := server.ParseRanges([]string{"10.0.0.1"}); err == nil {
		t.Error("an address is taken for a range")
	}
}

// TestTheAddressIsCheckedAfterItsNameWasResolved, however it is written, and again after a redirect.
func TestTheAddressIsCheckedAfterItsNameWasResolved(t *testing.T) {
	asked := 0
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	t.Cleanup(s.Close)
	at, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0"} {
		address := "http://" + host + ":" + at.Port()
		for _, insecure := range []bool{false, true} {
			client, err := server.Client(server.Options{URL: address, Insecure: insecure, MostBytes: 10})
			if err != nil {
				t.Fatal(err)
			}
			answer, err := client.Get(address)
			if err == nil {
				_ = answer.Body.Close()
			}
			if err == nil || !strings.Contains(err.Error(), "measurements may not ask it") {
				t.Errorf("%s: %v, want it refused", address, err)
			}
		}
	}
	if asked > 0 {
		t.Errorf("the server was asked %d times", asked)
	}
}
