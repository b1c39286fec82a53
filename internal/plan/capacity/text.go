package capacity

import (
	"fmt"
)

func Pods(n int32) string {
	if n == 1 {
		return "1 pod"
	}
	return fmt.Sprintf("%d pods", n)
}

func PortionText(weight, maxWeight int32) string {
	if maxWeight == 100 {
		return fmt.Sprintf("%d %%", weight)
	}
	return fmt.Sprintf("%d/%d", weight, maxWeight)
}
