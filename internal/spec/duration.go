package spec

import (
	"errors"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
)

// errDuration is what the schema says too, so that `kubectl apply` and the controller report the same.
var errDuration = errors.New("must be seconds such as 30, or a length of time with units h, m, s and ms such as 30s, 10m or 1h30m (a day is 24h), and not negative; leave duration out to wait for a promotion")

// PauseDuration parses the duration of a pause step: a number is seconds, as is a text with only digits; other texts are Go
// durations.
func PauseDuration(d intstr.IntOrString) (time.Duration, error) {
	if d.Type == intstr.Int {
		return notNegative(time.Duration(d.IntVal) * time.Second)
	}
	if seconds, err := strconv.ParseInt(d.StrVal, 10, 32); err == nil {
		return notNegative(time.Duration(seconds) * time.Second)
	}
	parsed, err := time.ParseDuration(d.StrVal)
	if err != nil {
		return 0, errDuration
	}
	return notNegative(parsed)
}

func notNegative(d time.Duration) (time.Duration, error) {
	if d < 0 {
		return 0, errDuration
	}
	return d, nil
}
