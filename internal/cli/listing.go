package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/cli/live"
)

// listing is how objects are listed.
type listing struct {
	*app
	kind kind
	// name is the only one that is wanted, empty for all.
	name              string
	all               bool
	watch, timestamps bool
	output            output
}

func (l *listing) flags(cmd *cobra.Command) {
	l.output.flag(cmd, outputJSON, outputYAML, outputWide, outputName)
	cmd.Flags().BoolVarP(&l.all, "all-namespaces", "A", false, "list across all namespaces")
}

// list prints the objects as a table, and then, if that is wanted, each that changes.
func list[T any, O interface {
	*T
	metav1.Object
}](cmd *cobra.Command, l listing, read func(live.Client, context.Context) ([]O, error), columns, wideColumns []string,
	cellsOf func(wide bool) func(O) []string,
) error {
	if err := l.output.check(); err != nil {
		return err
	}
	wide := l.output.format == outputWide
	cells := cellsOf(wide)
	if wide {
		columns = slices.Concat(columns, wideColumns)
	}
	if l.watch && l.output.set() && !wide {
		return errors.New("--watch prints lines: leave --output out")
	}
	c, err := l.connect()
	if err != nil {
		return err
	}
	if l.all {
		c.Namespace = ""
		columns = append([]string{"NAMESPACE"}, columns...)
	}
	row := func(obj O) []string {
		if l.all {
			return append([]string{obj.GetNamespace()}, cells(obj)...)
		}
		return cells(obj)
	}
	if l.output.set() && !wide {
		return l.printAll(cmd.Context(), c)
	}
	objects, err := read(c, cmd.Context())
	if err != nil {
		return err
	}
	var rows [][]string
	for _, obj := range objects {
		if l.wants(obj) {
			rows = append(rows, row(obj))
		}
	}
	if !l.watch && len(rows) == 0 {
		l.tell("No %ss found%s.\n", l.kind.noun, l.where(c))
		return nil
	}
	widths := widthsOf(append([][]string{columns}, rows...))
	l.line(columns, widths)
	for _, cells := range rows {
		l.line(cells, widths)
	}
	for _, obj := range objects {
		if broken := unreadable(obj); len(broken) > 0 && l.wants(obj) {
			l.tell("%s '%s' cannot be read entirely: %s\n", l.kind.noun, obj.GetName(), broken)
		}
	}
	if !l.watch {
		return nil
	}
	// What has been printed, so that a change that nobody can see is not printed again.
	printed := map[string]string{}
	for i, obj := range slices.DeleteFunc(objects, func(obj O) bool { return !l.wants(obj) }) {
		printed[obj.GetNamespace()+"/"+obj.GetName()] = strings.Join(rows[i], "\t")
	}
	return live.Changes(cmd.Context(), c, l.kind.resource, func(t *T) {
		obj := O(t)
		cells, key := row(obj), obj.GetNamespace()+"/"+obj.GetName()
		if text := strings.Join(cells, "\t"); l.wants(obj) && printed[key] != text {
			printed[key] = text
			l.line(cells, widths)
		}
	})
}

// unreadable are the fields of an object that do not fit the API.
func unreadable(obj metav1.Object) v1alpha1.Unreadable {
	switch o := obj.(type) {
	case *v1alpha1.Rollout:
		return o.Unreadable
	case *v1alpha1.Experiment:
		return o.Unreadable
	}
	return nil
}

func (l listing) wants(obj metav1.Object) bool { return l.name == "" || obj.GetName() == l.name }

func (l listing) where(c live.Client) string {
	if l.all {
		return ""
	}
	return fmt.Sprintf(" in namespace '%s'", c.Namespace)
}

func (l listing) line(cells []string, widths []int) {
	if l.watch && l.timestamps {
		l.print("%s  ", l.clock.Now().UTC().Format(time.RFC3339))
	}
	l.print("%s\n", joined(cells, widths))
}

// table prints rows below the names of their columns.
func (a *app) table(columns []string, rows [][]string) {
	widths := widthsOf(append([][]string{columns}, rows...))
	for _, cells := range append([][]string{columns}, rows...) {
		a.print("%s\n", joined(cells, widths))
	}
}

func joined(cells []string, widths []int) string {
	var b strings.Builder
	for i, cell := range cells {
		fmt.Fprintf(&b, "%-*s  ", widths[i], cell)
	}
	return strings.TrimRight(b.String(), " ")
}

// printAll prints the objects as they are.
func (l listing) printAll(ctx context.Context, c live.Client) error {
	list, err := l.kind.in(c).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	list.Items = slices.DeleteFunc(list.Items, func(u unstructured.Unstructured) bool { return !l.wants(&u) })
	return l.output.printList(l.app, list)
}

// widthsOf are those of columns that are wide enough for all rows.
func widthsOf(rows [][]string) []int {
	widths := make([]int, len(rows[0]))
	for _, cells := range rows {
		for i, cell := range cells {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	return widths
}
