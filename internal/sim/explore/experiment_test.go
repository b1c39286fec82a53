package explore

import (
	"flag"
	"testing"
)

var experiments = flag.Bool("experiments", false, "whether the one history is of Experiments and measured AnalysisRuns")

// TestExploreExperiments plays histories of Experiments and measured AnalysisRuns, one for each four of the others.
func TestExploreExperiments(t *testing.T) { explore(t, Trial{Experiments: true}, (*seeds+3)/4) }
