package kubelet

import (
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// program is what a container's process does, known beforehand.
type program struct {
	runs    time.Duration // until it ends by itself; forever: until it is stopped
	exit    int32
	message string
	unknown bool // it came to a command that is not interpreted
}

// server is a process that runs until it is stopped.
var server = program{runs: forever}

const unknownMessage = "the playground runs nothing, it interprets only sleep, exit, true, false and echo (joined by && || ;)"

// interpret tells what a command would do. Nothing is executed.
func interpret(argv []string) program {
	var p program
	joiner := ";"
	for _, step := range splitSteps(script(argv)) {
		skipped := joiner == "&&" && p.exit != 0 || joiner == "||" && p.exit == 0
		joiner = step.joiner
		if skipped || len(step.words) == 0 {
			continue
		}
		if p = p.then(step.words); p.unknown || p.runs == forever || step.words[0] == "exit" {
			return p
		}
	}
	if len(argv) == 0 {
		return program{exit: 127, unknown: true, message: unknownMessage + "; this container has no command"}
	}
	return p
}

// then is the program p followed by one more simple command.
func (p program) then(words []string) program {
	name, args := path.Base(words[0]), words[1:]
	switch name {
	case "true", ":", "echo":
		p.exit = 0
		return p
	case "false":
		p.exit = 1
		return p
	case "exit":
		if len(args) == 0 {
			return p
		}
		if code, err := strconv.ParseUint(args[0], 10, 8); err == nil {
			p.exit = int32(code)
			return p
		}
	case "sleep":
		if d, ok := sleepTime(args); ok {
			p.exit, p.runs = 0, p.runs+min(d, forever-p.runs)
			return p
		}
	}
	p.exit, p.unknown, p.message = 127, true, unknownMessage+", not "+strings.Join(words, " ")
	return p
}

// script is the text that a shell would get: that of sh -c, or the command itself.
func script(argv []string) string {
	shells := []string{"sh", "bash", "ash", "dash"}
	if len(argv) > 2 && slices.Contains(shells, path.Base(argv[0])) && strings.HasPrefix(argv[1], "-") && strings.HasSuffix(argv[1], "c") {
		return argv[2]
	}
	return strings.Join(argv, " ")
}

// step is one simple command and what joins it to the next.
type step struct {
	words  []string
	joiner string // ";", "&&", "||"
}

// splitSteps cuts a script into its simple commands. Quotes hold words together; of comments, variables and the rest of the
// shell it knows nothing, so these end up in a command that is not interpreted.
func splitSteps(text string) []step {
	var steps []step
	var current step
	var word strings.Builder
	inWord, quote := false, rune(0)
	endWord := func() {
		if inWord {
			current.words = append(current.words, word.String())
		}
		word.Reset()
		inWord = false
	}
	endStep := func(joiner string) {
		endWord()
		current.joiner = joiner
		steps = append(steps, current)
		current = step{}
	}
	skip := false
	for i, r := range text {
		twice := i+1 < len(text) && rune(text[i+1]) == r
		switch {
		case skip:
			skip = false
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, inWord = r, true
		case r == ';' || r == '\n':
			endStep(";")
		case (r == '&' || r == '|') && twice:
			endStep(string([]rune{r, r}))
			skip = true
		case r == ' ' || r == '\t':
			endWord()
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	endStep(";")
	return steps
}

// sleepTime adds up the arguments of sleep: "5", "0.5", "2m", "infinity".
func sleepTime(args []string) (time.Duration, bool) {
	units := map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour}
	total := time.Duration(0)
	for _, arg := range args {
		if arg == "infinity" || arg == "inf" {
			return forever, true
		}
		if arg == "" {
			return 0, false
		}
		unit := time.Second
		if u, ok := units[arg[len(arg)-1]]; ok {
			unit, arg = u, arg[:len(arg)-1]
		}
		n, err := strconv.ParseFloat(arg, 64)
		if err != nil || n < 0 || math.IsNaN(n) || n*float64(unit) > float64(forever/2) {
			return 0, false
		}
		total += min(time.Duration(n*float64(unit)), forever-total)
	}
	return total, len(args) > 0
}
