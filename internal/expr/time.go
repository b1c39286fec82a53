package expr

import (
	"context"
	"fmt"
	"time"
)

// Time is the instant that an expression stands for, such as `now() - duration("1h")`.
func Time(ctx context.Context, text string, now time.Time) (time.Time, error) {
	out, err := evaluate(ctx, text, nil, now, maxTimeWork)
	if err != nil {
		return time.Time{}, err
	}
	at, ok := out.(time.Time)
	if !ok {
		return time.Time{}, fmt.Errorf(`it gives %s, which is no time: write for example now() - duration("1h")`, brief(out))
	}
	return at, nil
}
