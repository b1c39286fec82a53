package judge

// Verdict is how all signals did together.
type Verdict struct {
	// Score is from 0, all signals fail, to 100, all pass.
	Score   float64
	Results []Result
	Groups  []Group
	// Critical are the names of critical signals that failed. The score is 0 because of them.
	Critical []string
	// Undecided are the names of signals without enough samples that leave the verdict open.
	Undecided []string
}

// Group is how the signals of a group did.
type Group struct {
	Name string
	// Weight is how much the group counts, relative to the others.
	Weight int
	// Passed of Counted signals passed.
	Passed, Counted int
}

// Open reports whether there is no verdict: a signal leaves it open, or none counts.
func (v Verdict) Open() bool {
	counted := 0
	for _, g := range v.Groups {
		counted += g.Counted
	}
	return len(v.Critical) == 0 && (len(v.Undecided) > 0 || counted == 0)
}

// All judges signals. Each group counts by its weight, 1 if weights has none, and within it all signals count alike. Groups of which no
// signal counts are left out of the score.
func All(signals []Signal, weights map[string]int) Verdict {
	var v Verdict
	groups := map[string]int{}
	for _, s := range signals {
		r := Judge(s)
		v.Results = append(v.Results, r)
		i, known := groups[s.Group]
		if !known {
			weight, set := weights[s.Group]
			if !set {
				weight = 1
			}
			i = len(v.Groups)
			groups[s.Group] = i
			v.Groups = append(v.Groups, Group{Name: s.Group, Weight: weight})
		}
		if r.counts() {
			v.Groups[i].Counted++
			if !r.Fails() {
				v.Groups[i].Passed++
			}
		} else if r.NoData == Undecided {
			v.Undecided = append(v.Undecided, s.Name)
		}
		if s.Critical && r.Fails() {
			v.Critical = append(v.Critical, s.Name)
		}
	}
	if len(v.Critical) == 0 {
		v.Score = score(v.Groups)
	}
	return v
}

func score(groups []Group) float64 {
	var reached, possible float64
	for _, g := range groups {
		if g.Counted > 0 {
			possible += float64(g.Weight)
			reached += float64(g.Weight) * float64(g.Passed) / float64(g.Counted)
		}
	}
	if possible == 0 {
		return 0
	}
	return 100 * reached / possible
}
