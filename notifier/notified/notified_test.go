package notified

import (
	"fmt"
	"testing"
	"time"

	"github.com/sluice-delivery/sluice/notifier/config"
)

func TestKeys(t *testing.T) {
	to := config.Destination{Service: "slack", Recipient: "ch"}
	for want, m := range map[string]Message{
		"on-x:[0].h:slack:ch":        {Trigger: "on-x", Condition: "[0].h", To: to},
		"shop:on-x:[0].h:slack:ch":   {Namespace: "shop", Trigger: "on-x", Condition: "[0].h", To: to},
		"7:shop:on-x:[0].h:slack:ch": {Once: "7", Namespace: "shop", Trigger: "on-x", Condition: "[0].h", To: to},
	} {
		if got := m.Key(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestState(t *testing.T) {
	for text, want := range map[string]string{"": "", "{": "", "null": "", `{"a":1}`: `{"a":1}`, "[]": ""} {
		if got := Parse(text).String(); got != want {
			t.Errorf("%q gives %q, want %q", text, got, want)
		}
	}
	s := State{}
	for i := range 150 {
		s.Set(fmt.Sprint(i), time.Unix(int64(i), 0))
	}
	s = Parse(s.String())
	if _, old := s["49"]; old || len(s) != 100 || s["50"] != 50 || s["149"] != 149 {
		t.Errorf("%d keys, want the newest hundred", len(s))
	}
}
