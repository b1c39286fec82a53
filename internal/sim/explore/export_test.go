package explore

// EngineMutants are the engines with a fault, for tests of other searches: those of all Rollouts, and those of routed canaries.
func EngineMutants() map[string]Engine {
	all := map[string]Engine{}
	for name, engine := range mutants {
		all[name] = engine
	}
	for name, mutant := range routedMutants {
		all[name] = mutant.engine
	}
	return all
}

// Rewrite reports whether tests write down what they find.
func Rewrite() bool { return *rewrite }
