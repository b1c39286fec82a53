package capacity

import (
	"fmt"
)

// Pods is a number of pods as people say it.
func Pods(n int32) string {
	if n == 1 {
		return "1 pod"
	}
	return fmt.Sprintf("%d pods", n)
}

// PortionText is a weight as people say it: a percentage, or a fraction where the whole is not 100.
func PortionText(weight, maxWeight int32) string {
	if maxWeight == 100 {
		return fmt.Sprintf("%d %%", weight)
	}
	return fmt.Sprintf("%d/%d", weight, maxWeight)
}
