package spec

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
)

func TestPauseDuration(t *testing.T) {
	for name, c := range map[string]struct {
		written intstr.IntOrString
		want    time.Duration
		fails   bool
	}{
		"a number is seconds":         {intstr.FromInt32(10), 10 * time.Second, false},
		"a number in quotes is, too":  {intstr.FromString("10"), 10 * time.Second, false},
		"seconds":                     {intstr.FromString("10s"), 10 * time.Second, false},
		"minutes":                     {intstr.FromString("10m"), 10 * time.Minute, false},
		"hours":                       {intstr.FromString("10h"), 10 * time.Hour, false},
		"several units":               {intstr.FromString("1h30m5s"), time.Hour + 30*time.Minute + 5*time.Second, false},
		"a fraction":                  {intstr.FromString("1.5h"), 90 * time.Minute, false},
		"nothing at all":              {intstr.FromInt32(0), 0, false},
		"a year":                      {intstr.FromInt32(365 * 24 * 3600), 365 * 24 * time.Hour, false},
		"less than nothing":           {intstr.FromInt32(-1), 0, true},
		"less than nothing in quotes": {intstr.FromString("-10"), 0, true},
		"less than nothing in hours":  {intstr.FromString("-1h"), 0, true},
		"days are no Go duration":     {intstr.FromString("1d"), 0, true},
		"a word":                      {intstr.FromString("forever"), 0, true},
		"an empty text":               {intstr.FromString(""), 0, true},
		"a space":                     {intstr.FromString("10 s"), 0, true},
		"more seconds than fit":       {intstr.FromString("99999999999999"), 0, true},
		"more hours than fit":         {intstr.FromString("99999999999999h"), 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := PauseDuration(c.written)
			if got != c.want || (err != nil) != c.fails {
				t.Errorf("got %s, %v; want %s, fails %t", got, err, c.want, c.fails)
			}
		})
	}
}

func TestThreshold(t *testing.T) {
	for name, c := range map[string]struct {
		threshold          Threshold
		available, desired int32
		want               bool
	}{
		"all of them":                        {AllPods, 4, 4, true},
		"all but one":                        {AllPods, 3, 4, false},
		"more than all":                      {AllPods, 5, 4, true},
		"none of none":                       {AllPods, 0, 0, true},
		"exactly the share":                  {Threshold{Value: 90, Percent: true}, 9, 10, true},
		"just below the share":               {Threshold{Value: 91, Percent: true}, 9, 10, false},
		"two thirds of three is not 67 %":    {Threshold{Value: 67, Percent: true}, 2, 3, false},
		"two thirds of three is 66 %":        {Threshold{Value: 66, Percent: true}, 2, 3, true},
		"no share at all":                    {Threshold{Value: 0, Percent: true}, 0, 10, true},
		"enough pods":                        {Threshold{Value: 3}, 3, 10, true},
		"too few pods":                       {Threshold{Value: 3}, 2, 10, false},
		"more pods asked than there will be": {Threshold{Value: 30}, 10, 10, true},
		"a share of very many":               {Threshold{Value: 100, Percent: true}, 1 << 30, 1 << 30, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.threshold.Met(c.available, c.desired); got != c.want {
				t.Errorf("Met(%d of %d) = %t, want %t", c.available, c.desired, got, c.want)
			}
		})
	}
}
