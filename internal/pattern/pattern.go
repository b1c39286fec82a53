package pattern

import (
	"fmt"
	"regexp"
	"regexp/syntax"
)

const (
	// MaxBytes is how long a pattern may be. Parsing it costs little then, even where each of its letters stands for a class of Unicode.
	MaxBytes = 1000
	// MaxInstructions is how many instructions a compiled pattern may have. Patterns that people write have tens.
	MaxInstructions = 1000
)

// Compile compiles a pattern that is within the bounds.
func Compile(pattern string) (*regexp.Regexp, error) {
	if _, err := Instructions(pattern); err != nil {
		return nil, err
	}
	return regexp.Compile(pattern)
}

// Instructions is how many instructions a pattern has at most when it is compiled. It returns an error if the pattern is broken or out of
// bounds.
func Instructions(pattern string) (int, error) {
	if len(pattern) > MaxBytes {
		return 0, fmt.Errorf("the pattern has %d bytes and may have %d: write a shorter one", len(pattern), MaxBytes)
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0, err
	}
	n := instructions(parsed)
	if n > MaxInstructions {
		return 0, fmt.Errorf("the pattern %q compiles to more than %d instructions: write one that repeats less", pattern, MaxInstructions)
	}
	return n, nil
}

// instructions counts without expanding anything. It stops counting above the limit, so that products cannot overflow.
func instructions(re *syntax.Regexp) int {
	parts := 0
	for _, sub := range re.Sub {
		parts = min(parts+instructions(sub), MaxInstructions+1)
	}
	n := parts
	switch re.Op {
	case syntax.OpLiteral:
		n = len(re.Rune)
	case syntax.OpAlternate:
		n += len(re.Sub)
	case syntax.OpCapture, syntax.OpStar:
		n += 2
	case syntax.OpPlus, syntax.OpQuest:
		n++
	case syntax.OpRepeat:
		n = parts*re.Min + (parts+2)*max(re.Max-re.Min, 1) // what may be left out needs a branch; without an upper bound it is a loop
	default:
	}
	return min(max(n, 1), MaxInstructions+1)
}
