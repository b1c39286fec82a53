package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/internal/cli/live"
)

// listing is how objects are to be listed.
type listing struct {
	*app
	kind kind
	// name is the only one that is wanted, empty for all.
	name              string
	all               bool
	watch, timestamps bool
}

func (l *listing) flags(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&l.all, "all-namespaces", "A", false, "of all namespaces")
}

// list prints the objects as a table, and then, if that is wanted, each that changes.
func list[T any, O interface {
	*T
	metav1.Object
}](cmd *cobra.Command, l listing, read func(live.Client, context.Context) ([]O, error), columns []string, cells func(O) []string,
) error {
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

func (l listing) wants(obj metav1.Object) bool { return l.name == "" || obj.GetName() == l.name }

func (l listing) where(c live.Client) string {
	if l.all {
		return ""
	}
	return fmt.Sprintf(" in namespace '%s'", c.Namespace)
}

func (l listing) line(cells []string, widths []int) {
	var b strings.Builder
	if l.watch && l.timestamps {
		b.WriteString(l.clock.Now().UTC().Format(time.RFC3339) + "  ")
	}
	for i, cell := range cells {
		fmt.Fprintf(&b, "%-*s  ", widths[i], cell)
	}
	l.print("%s\n", strings.TrimRight(b.String(), " "))
}

// widthsOf are those of columns that are wide enough for all rows.
func widthsOf(rows [][]string) []int {
	widths := make([]int, len(rows[0]))
	for _, cells := range rows {
		for i, cell := range cells {
			widths[i] = max(widths[i], len(cell))
		}
	}
	return widths
}
