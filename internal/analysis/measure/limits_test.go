package measure

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"
)

// A limit is a number or the text of one, in decimal, or what counts where there is none.
func TestNumber(t *testing.T) {
	for name, row := range map[string]struct {
		value *intstr.IntOrString
		want  int32
	}{
		"a number":         {new(intstr.FromInt32(10)), 10},
		"a text":           {new(intstr.FromString("10")), 10},
		"the largest text": {new(intstr.FromString("2147483647")), 2147483647},
		"less than none":   {new(intstr.FromString("-1")), -1},
		"nothing":          {nil, 7},
	} {
		if got := number(row.value, 7); got != row.want {
			t.Errorf("%s: %d, want %d", name, got, row.want)
		}
	}
}
