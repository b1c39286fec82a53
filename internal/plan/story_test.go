package plan_test

import (
	"testing"

	"github.com/sluice-delivery/sluice/internal/sim"
	"github.com/sluice-delivery/sluice/internal/sim/story"
)

func TestTranscripts(t *testing.T) { story.Transcripts(t) }

func TestCrashAnywhere(t *testing.T) { story.CrashAnywhere(t) }

func TestStaleAnywhere(t *testing.T) {
	story.StaleAnywhere(t, map[string]sim.View{
		"the Rollout before the last change":      {Rollout: 1},
		"the Rollout before three changes":        {Rollout: 3},
		"the ReplicaSets before the last change":  {ReplicaSets: 1},
		"the ReplicaSets before three changes":    {ReplicaSets: 3},
		"the Services before the last change":     {Services: 1},
		"the Services before three changes":       {Services: 3},
		"the routes before the last change":       {Routes: 1},
		"the routes before three changes":         {Routes: 3},
		"the AnalysisRuns before the last change": {AnalysisRuns: 1},
		"the AnalysisRuns before three changes":   {AnalysisRuns: 3},
		"the Experiments before the last change":  {Experiments: 1},
		"the Experiments before three changes":    {Experiments: 3},
		"everything as it was a few changes back": {Rollout: 2, ReplicaSets: 4, Services: 3, Routes: 3},
	})
}
