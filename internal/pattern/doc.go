// Package pattern bounds regular expressions that people write into objects, before anything compiles them.
//
// Go's regexp matches in time proportional to the length of the text times the number of instructions of the pattern, and a pattern of a
// few bytes can have millions of instructions: (x{1000}){1000} has a million. So the instructions are counted in the parsed
// pattern, without expanding its repetitions, and a pattern with too many is refused.
//
// What must not be here: anything that matches. The package imports the standard library only.
package pattern
