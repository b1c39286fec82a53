package influxdb

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-delivery/sluice/internal/metric"
)

// table is one of an answer, as far as its rows have been read.
type table struct {
	datatypes, defaults, header []string
	// value is the column of the values, -1 for none.
	value int
}

// parse reads the values of all rows of all tables. An error, which may come after rows, is an error.
func parse(body []byte) ([]any, error) {
	reader := csv.NewReader(bytes.NewReader(body))
	reader.FieldsPerRecord = -1
	var values []any
	var t table
	for {
		row, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("the answer is no annotated CSV: %w", err)
		}
		switch {
		case row[0] == "#datatype":
			t = table{datatypes: row}
		case row[0] == "#default":
			t.defaults = row
		case strings.HasPrefix(row[0], "#"):
		case isErrorHeader(row):
			return nil, errorIn(reader)
		case t.datatypes == nil:
			return nil, fmt.Errorf("the answer is no annotated CSV: %q", strings.Join(row, ","))
		case t.header == nil:
			t.header, t.value = row, slices.Index(row, "_value")
		default:
			value, err := t.read(row)
			if err != nil {
				return nil, err
			}
			values = append(values, value)
		}
	}
	if len(values) == 0 {
		return nil, errNone
	}
	return values, nil
}

var errNone = metric.None("no results returned from flux query")

func isErrorHeader(row []string) bool {
	return slices.Equal(row, []string{"error", "reference"}) || slices.Equal(row, []string{"", "error", "reference"})
}

// errorIn is what the table of an error says.
func errorIn(reader *csv.Reader) error {
	row, err := reader.Read()
	if err != nil {
		return errors.New("the query failed, and the answer does not say why")
	}
	return fmt.Errorf("the query failed: %s", strings.Trim(strings.Join(row, " "), " "))
}

// read is the value of a row, nil for none.
func (t table) read(row []string) (any, error) {
	if t.value < 0 {
		return nil, nil //nolint:nilnil // there is none
	}
	if t.value >= len(row) || t.value >= len(t.datatypes) {
		return nil, fmt.Errorf("a row of the answer has %d columns, and its table %d", len(row), len(t.header))
	}
	text, kind := row[t.value], t.datatypes[t.value]
	if text == "" && t.value < len(t.defaults) {
		text = t.defaults[t.value]
	}
	value, err := typed(text, kind)
	if err != nil {
		return nil, fmt.Errorf("value %q is no %s: %w", text, kind, err)
	}
	return value, nil
}

// typed is a value of a type.
func typed(text, kind string) (any, error) {
	kind, _, _ = strings.Cut(kind, ":")
	if text == "" && kind != "string" {
		return nil, nil //nolint:nilnil // there is none
	}
	switch kind {
	case "double":
		return strconv.ParseFloat(text, 64)
	case "long":
		return strconv.ParseInt(text, 10, 64)
	case "unsignedLong":
		return strconv.ParseUint(text, 10, 64)
	case "boolean":
		return strconv.ParseBool(text)
	case "dateTime":
		return time.Parse(time.RFC3339Nano, text)
	}
	return text, nil
}
