package experiment_test

import (
	"testing"

	"github.com/sluice-delivery/sluice/internal/sim"
	"github.com/sluice-delivery/sluice/internal/sim/story"
)

func TestTranscripts(t *testing.T) { story.Transcripts(t) }

func TestCrashAnywhere(t *testing.T) { story.CrashAnywhere(t) }

func TestStaleAnywhere(t *testing.T) {
	story.StaleAnywhere(t, map[string]sim.View{
		"the Experiment before the last change":   {Experiments: 1},
		"the Experiment before three changes":     {Experiments: 3},
		"the ReplicaSets before the last change":  {ReplicaSets: 1},
		"the ReplicaSets before three changes":    {ReplicaSets: 3},
		"the Services before the last change":     {Services: 1},
		"the AnalysisRuns before the last change": {AnalysisRuns: 1},
		"everything as it was a few changes back": {Experiments: 2, ReplicaSets: 4, Services: 3, AnalysisRuns: 2},
	})
}
