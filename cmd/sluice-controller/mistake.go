package main

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/sluice-delivery/sluice/internal/spelling"
)

// mistake is what is wrong with a flag, in words for who wrote it.
func mistake(f *pflag.FlagSet, err error) error {
	var (
		unknown *pflag.NotExistError
		invalid *pflag.InvalidValueError
	)
	switch {
	case errors.As(err, &unknown):
		return fmt.Errorf("%w; %s", err, suggestion(f, unknown.GetSpecifiedName()))
	case errors.As(err, &invalid):
		flag := invalid.GetFlag()
		if _, isRefused := flag.Value.(refused); isRefused {
			return fmt.Errorf("--%s: %w", flag.Name, errors.Unwrap(invalid))
		}
		return fmt.Errorf("--%s %q: write %s", flag.Name, invalid.GetValue(), wanted(flag.Value.Type()))
	}
	return err
}

// suggestion is the flag that was meant, or else where all of them are.
func suggestion(f *pflag.FlagSet, name string) string {
	var names []string
	f.VisitAll(func(flag *pflag.Flag) {
		if !flag.Hidden {
			names = append(names, flag.Name)
		}
	})
	if near := spelling.Nearest(name, names); near != "" {
		return "did you mean --" + near + "?"
	}
	return "see --help"
}

// wanted are the values of a type of flags.
func wanted(kind string) string {
	switch kind {
	case "bool":
		return "true or false"
	case "duration":
		return "a length of time, such as 15s or 2m"
	case "int", "int64":
		return "a whole number"
	case "float32":
		return "a number"
	}
	return "a " + kind
}
