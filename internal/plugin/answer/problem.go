package answer

import "github.com/sluice-delivery/sluice/internal/clean"

// longestProblem is how much of why a plugin could not do something is shown.
const longestProblem = 500

// Problem is why a plugin could not do something, as far as it is shown.
func Problem(err error) string {
	text := clean.Text(err.Error())
	if len(text) > longestProblem {
		text = clean.Text(text[:longestProblem] + "…")
	}
	return text
}
