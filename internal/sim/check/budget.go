package check

// budget is how often what may still happen: each of the world's moves, and kinds of disorder.
type budget struct {
	moves                       [16]uint8
	all, stale, crashes, delays uint8
}

// budget is what may happen in a world.
func (w *World) budget() budget {
	b := budget{all: w.Total, stale: w.Stale, crashes: w.Crashes, delays: w.Delays}
	for i, m := range w.Moves {
		b.moves[i] = 1 + m.More
	}
	return b
}

// pack is a budget in little room: two bits for each move, and as much of it as can happen.
func (b budget) pack() (n uint64) {
	for _, left := range b.moves {
		n = n<<2 | uint64(min(left, b.all, 3))
	}
	for _, left := range []uint8{b.all, b.stale, b.crashes, b.delays} {
		n = n<<4 | uint64(left)
	}
	return n
}

func unpack(n uint64) (b budget) {
	for _, left := range []*uint8{&b.delays, &b.crashes, &b.stale, &b.all} {
		*left = uint8(n & 15)
		n >>= 4
	}
	for i := range b.moves {
		b.moves[len(b.moves)-1-i] = uint8(n & 3)
		n >>= 2
	}
	return b
}

// classes are the kinds of steps that may still happen.
func (b budget) classes() (c classes) {
	c.put(own, true)
	c.put(moved, b.all > 0)
	c.put(late, b.delays > 0)
	c.put(crashed, b.crashes > 0)
	c.put(lagged, b.stale > 1)
	c.put(laggedEnd, b.stale == 1)
	c.put(laggedCrashed, b.stale > 1 && b.crashes > 0)
	c.put(laggedEndCrashed, b.stale == 1 && b.crashes > 0)
	return c
}

// after is what is left after a step, and whether there was enough for it.
func (b budget) after(what step) (budget, bool) {
	use := func(n *uint8, used bool) bool {
		if used && *n == 0 {
			return false
		}
		if used {
			*n--
		}
		return true
	}
	ok := use(&b.stale, what.behind != behind{}) && use(&b.crashes, what.crash > 0) && use(&b.delays, what.late)
	if what.kind == act {
		ok = ok && use(&b.all, true) && use(&b.moves[what.which], true)
	}
	return b, ok
}
