package expr

import (
	"fmt"
	"time"
)

// Time is the instant that an expression stands for, such as `now() - duration("1h")`.
func Time(text string, now time.Time) (time.Time, error) {
	out, err := evaluate(text, nil, now)
	if err != nil {
		return time.Time{}, err
	}
	at, ok := out.(time.Time)
	if !ok {
		return time.Time{}, fmt.Errorf(`it gives %v, which is no time: write for example now() - duration("1h")`, out)
	}
	return at, nil
}
