package spec

import (
	"errors"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
)

var (
	errDuration = errors.New(`write a number of seconds or a Go duration such as "30s", "10m" or "1h30m"`)
	errNegative = errors.New("a pause cannot be shorter than nothing; leave the duration out to pause until someone resumes")
)

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
		return 0, errNegative
	}
	return d, nil
}
