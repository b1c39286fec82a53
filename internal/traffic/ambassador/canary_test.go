package ambassador

import "testing"

func TestLead(t *testing.T) {
	for name, c := range map[string]struct {
		address, want string
		ok            bool
	}{
		"a scheme, a namespace and a port": {"https://app-stable.ns:8443", "https://app-canary.ns:8443", true},
		"a name alone":                     {"app-stable", "app-canary", true},
		"a port":                           {"app-stable:80", "app-canary:80", true},
		"another name that begins so":      {"app-stable-2", "app-stable-2", false},
		"a name that stands elsewhere":     {"proxy/app-stable", "proxy/app-stable", false},
		"nothing":                          {"", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			if got, ok := lead(c.address, "app-stable", "app-canary"); got != c.want || ok != c.ok {
				t.Errorf("got %q, %t", got, ok)
			}
		})
	}
}
