package fair

import (
	"cmp"
	"container/list"
	"slices"
)

// lowTurn is which turn goes to the priorities in rotation instead of the highest: without it, a tenant that always has something of
// high priority would keep the low priorities of all others waiting for good.
const lowTurn = 4

// Turns are items that wait. They are served by priority, within a priority by tenant in turn, and within a tenant first come, first
// served. A tenant with ten thousand items delays another's only item by one.
//
// A Turns is not safe for concurrent use.
type Turns[T any] struct {
	classes []*class[T] // with something waiting, the highest priority first
	served  int
	length  int
}

// class is what waits with one priority.
type class[T any] struct {
	priority int
	lines    map[string]*line[T]
	// round are the lines, the one that is served next first.
	round *list.List
}

// line is what waits of one tenant.
type line[T any] struct {
	tenant string
	items  *list.List // of *Ticket[T]
	place  *list.Element
}

// Ticket is an item's place among those that wait.
type Ticket[T any] struct {
	item    T
	class   *class[T]
	line    *line[T]
	element *list.Element
}

// Len is how many items wait.
func (t *Turns[T]) Len() int { return t.length }

// Push adds an item as the last of its tenant with its priority.
func (t *Turns[T]) Push(tenant string, priority int, item T) *Ticket[T] {
	c := t.class(priority)
	l := c.lines[tenant]
	if l == nil {
		l = &line[T]{tenant: tenant, items: list.New()}
		l.place = c.round.PushBack(l)
		c.lines[tenant] = l
	}
	ticket := &Ticket[T]{item: item, class: c, line: l}
	ticket.element = l.items.PushBack(ticket)
	t.length++
	return ticket
}

func (t *Turns[T]) class(priority int) *class[T] {
	i, found := slices.BinarySearchFunc(t.classes, priority, func(c *class[T], p int) int { return cmp.Compare(p, c.priority) })
	if !found {
		t.classes = slices.Insert(t.classes, i, &class[T]{priority: priority, lines: map[string]*line[T]{}, round: list.New()})
	}
	return t.classes[i]
}

// Remove takes an item out that waits.
func (t *Turns[T]) Remove(ticket *Ticket[T]) {
	c, l := ticket.class, ticket.line
	l.items.Remove(ticket.element)
	t.length--
	if l.items.Len() == 0 {
		c.round.Remove(l.place)
		delete(c.lines, l.tenant)
	}
	if len(c.lines) == 0 {
		t.classes = slices.DeleteFunc(t.classes, func(other *class[T]) bool { return other == c })
	}
}

// Pop takes out the item whose turn it is, of those tenants that may be served now. It reports false if there is none.
func (t *Turns[T]) Pop(served func(tenant string) bool) (item T, ok bool) {
	first := 0
	if n := t.served + 1; n%lowTurn == 0 && len(t.classes) > 0 {
		first = n / lowTurn % len(t.classes)
	}
	for i := range t.classes {
		c := t.classes[(first+i)%len(t.classes)]
		for place := c.round.Front(); place != nil; place = place.Next() {
			l := place.Value.(*line[T])
			if !served(l.tenant) {
				continue
			}
			ticket := l.items.Front().Value.(*Ticket[T])
			c.round.MoveToBack(place)
			t.Remove(ticket)
			t.served++
			return ticket.item, true
		}
	}
	return item, false
}
