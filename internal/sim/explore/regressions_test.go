package explore

import "testing"

// regressions are histories that once failed, with the fault that they found and, where there is one, the mutant that has it. Histories
// change when what makes them does: then the test says so of those with a mutant, and other seeds must be found, which the mutant makes
// easy. What each of the others showed is also told in internal/plan/testdata/explored.txt.
var regressions = []struct {
	Trial
	fault string
}{
	{Trial{Seed: 685}, "trusts counts of another size"},
	{Trial{Seed: 854}, "an abort leaves a promotion standing"},
	{Trial{Seed: 218, Shell: true}, "a version got pods that no status knew of, and went round its gates when it came back"},
	{Trial{Seed: 878, Shell: true}, "the delay behind an abort began before the switch was seen"},
	{Trial{Seed: 54, Routed: true, Shell: true, Moves: []int{0}}, "the pods of a first version that no status told of left the second no room"},
	{Trial{Seed: 54, Routed: true, Shell: true, Moves: []int{0, 1}}, "the same, where the stable Service sends to the first one"},
	{Trial{Seed: 4712, Shell: true, Standby: true, Moves: []int{0, 3}, Without: []Disorder{Staleness, Timeouts}}, "the rules': a process that has lost the lead added pods beside those of the next one"},
	{Trial{Seed: 224, Routed: true, Shell: true}, "a canary Ingress was left behind that no Rollout named any more"},
	{Trial{Seed: 593, Routed: true, Shell: true, Moves: []int{0, 1, 2}, Without: []Disorder{Crashes, Delays, Timeouts}}, "a version that both Services sent to lost its pods as if only the canary's had"},
	{Trial{Seed: 235, Routed: true, Shell: true, Moves: []int{3, 7, 8, 9, 10}}, "the rules': what was told in a pass in which somebody undid it may be told again"},
	{Trial{Seed: 1967, Routed: true, Shell: true, Standby: true, Moves: []int{0, 1, 2, 3}, Without: quiet}, "the rules': where nobody has a pod a weight may go back"},
	{Trial{Seed: 619, Routed: true, Shell: true, Moves: []int{2, 7}, Without: []Disorder{Staleness, Crashes, Timeouts}}, "the rules': a pass that was decided before somebody's hand is no rest"},
	{Trial{Seed: 615, Routed: true, Shell: true, Moves: []int{0, 1, 2, 3, 4}, Without: []Disorder{Timeouts}}, "the rules': a Service that was pointed back may be pointed there again"},
	{Trial{Seed: 2137, Routed: true, Shell: true, Moves: []int{6, 7, 8}, Without: []Disorder{Staleness, Timeouts}}, "the stable version, to which somebody had pointed both Services, had no room to take the weight back"},
	{Trial{Seed: 3125, Routed: true, Moves: []int{6, 10, 14}, Without: quiet}, "an overtaken version kept its room while the canary Service selected none"},
	{Trial{Seed: 3937, Routed: true, Moves: []int{0, 2, 4, 6}, Without: quiet}, "the same, behind a Service made anew"},
	{Trial{Seed: 4373, Routed: true, Moves: []int{10, 11}, Without: quiet}, "a weight that was to fall had no room on the stable side"},
	{Trial{Seed: 3272, Routed: true, Moves: []int{14, 15}, Without: quiet}, "pingPong took turns before the route named both Services"},
	{Trial{Seed: 3524, Routed: true, Moves: []int{5, 6}, Without: quiet}, "the same, by another way"},
	{Trial{Seed: 20779, Routed: true, Moves: []int{3, 4, 5}, Without: []Disorder{Staleness}}, "a router took traffic back after a crash"},
	{Trial{Seed: 2484, Routed: true, Moves: []int{0, 2, 3, 4}, Without: []Disorder{Crashes}}, "the same, behind a rise that was not recorded"},
	{Trial{Seed: 4575, Experiments: true}, "an experiment was begun of a version whose ReplicaSet somebody had deleted"},
	{Trial{Seed: 4568, Experiments: true, Moves: []int{1, 2, 9}, Without: []Disorder{Staleness, Crashes}}, "an experiment that could not be begun anew paused for ever"},
	{Trial{Seed: 4428, Experiments: true, Moves: []int{0, 12}, Without: []Disorder{Crashes, Delays}}, "what was created for an experiment that was gone was never collected, nor waited for"},
	{Trial{Seed: 5906, Experiments: true, Moves: []int{0, 5}, Without: []Disorder{Crashes, Delays}}, "the same, and it kept its pods"},
	{Trial{Seed: 10182, Experiments: true, Moves: []int{10, 11}, Without: []Disorder{Crashes, Delays}}, "the same, of other templates"},
	{Trial{Seed: 4943, Experiments: true, Moves: []int{6, 7, 10, 11, 12}, Without: quiet}, "an attempt that was refused counted as one that ended"},
	{Trial{Seed: 4689, Experiments: true, Moves: []int{2, 3}, Without: []Disorder{Staleness}}, "an analysis was begun beside itself when somebody had deleted the one of the attempt before"},
	{Trial{Seed: 8985, Experiments: true, Moves: []int{0, 1, 2, 6, 7}}, "every Experiment was looked at for anything that happened, and that never ended"},
	{Trial{Seed: 3088, Shell: true, Routed: true, Moves: []int{0}}, "an analysis was deleted before it was recorded that its step is done, and begun anew"},
	{Trial{Seed: 5535, Experiments: true, Moves: []int{1, 2}, Without: []Disorder{Staleness}}, "an experiment lost pods that were sent to by a pass that could not record it"},
	{Trial{Seed: 1328, Shell: true, Standby: true, Experiments: true, Moves: []int{0, 1, 2, 4}}, "the same, while the process that came next did not hear of the Rollout"},
	{Trial{Seed: 101, Shell: true, Experiments: true, Moves: []int{0, 1, 2, 3}, Without: []Disorder{Crashes}}, "an experiment began before the one ended whose place it took, and that write got no answer"},
	{Trial{Seed: 1694, Shell: true, Standby: true, Experiments: true, Moves: []int{0, 1, 2, 3, 4}, Without: []Disorder{Crashes}}, "the same, with experiments of two updates"},
	{Trial{Seed: 88, Shell: true, Standby: true, Experiments: true, Moves: []int{0, 1, 2, 4, 5}}, "the World's: processes took the lead from each other before any had worked off its queue"},
	{Trial{Seed: 753, Shell: true, Moves: []int{1, 2, 5, 11, 12, 13}}, "a version grew by a write that got no answer, and another one beside it by a cache that did not show that"},
	{Trial{Seed: 480, Routed: true, Shell: true, Moves: []int{3, 4, 5, 6}, Without: []Disorder{Crashes}}, "a name was taken, no answer said so, and the object was waited for that no cache has"},
	{Trial{Seed: 3738, Routed: true, Shell: true, Moves: []int{0, 1, 4, 5, 6, 7, 8}}, "a Service went back to a version without pods, since the status had no weight for it that one router had"},
	{Trial{Seed: 2572, Routed: true, Shell: true, Moves: []int{2, 10, 12}}, "an overtaken version left no room for any other, though no Service selected it"},
	{Trial{Seed: 39918, Routed: true, Moves: []int{2, 3, 4, 6, 8, 9}, Without: []Disorder{Crashes}}, "a version was promoted by a Service as it had been"},
	{Trial{Seed: 59371, Moves: []int{1, 2, 4, 5, 6}, Without: []Disorder{Staleness, Crashes}}, "a restart took pods of an aborted version that still served"},
	{Trial{Seed: 30040, Routed: true, Moves: []int{0, 11, 13}, Without: quiet}, "a deadline of the blue-green strategy outlived it"},
	{Trial{Seed: 45549, Routed: true, Moves: []int{2, 3, 4, 6}, Without: quiet}, "setCanaryScale took pods before their traffic"},
	{Trial{Seed: 45564, Routed: true, Moves: []int{3, 5, 11, 13}, Without: quiet}, "the only version waited at 0 replicas for the pod of a setCanaryScale"},
	{Trial{Seed: 47883, Routed: true, Moves: []int{4, 5, 7, 11}, Without: quiet}, "an aborted version got everything while the one before it served"},
	{Trial{Seed: 109838, Routed: true, Moves: []int{0, 1, 2, 3}, Without: []Disorder{Staleness}}, "what a pass raised and could not record went back to nobody"},
	{Trial{Seed: 113875, Routed: true, Moves: []int{2, 3, 4, 5, 6}, Without: []Disorder{Crashes}}, "what a pass took back and could not record was given again, to nobody"},
	{Trial{Seed: 139698, Routed: true, Moves: []int{2, 4, 5}, Without: []Disorder{Crashes}}, "the same between two versions that had no pod"},
	{Trial{Seed: 134220, Routed: true, Moves: []int{1, 2, 3, 4, 6, 7}}, "a rise by the status was a fall by the routers"},
	{Trial{Seed: 143686, Routed: true, Moves: []int{0, 2, 4, 6}, Without: quiet}, "a Service that carried everything was pointed at a version without pods, with pingPong"},
	{Trial{Seed: 112451, Routed: true, Moves: []int{1, 3, 4, 5}, Without: quiet}, "a version lost pods that the stable Service sent to"},
	{Trial{Seed: 136588, Routed: true, Moves: []int{0, 3, 8, 9, 13, 14, 15, 16}, Without: []Disorder{Staleness, Crashes}}, "the same, by somebody's hand"},
	{Trial{Seed: 169291, Routed: true, Moves: []int{0, 2, 3, 4}, Without: quiet}, "a Service without router kept to a version that was overtaken, the stable one being gone"},
	{Trial{Seed: 204949, Routed: true, Moves: []int{0, 5}, Without: quiet}, "a Service kept a pod that there was no room for, and the step waited for it to go"},
	{Trial{Seed: 22335, Moves: []int{0, 1, 2, 3, 4}, Without: []Disorder{Crashes}}, "a preview that came back lost pods within its delay"},
	{Trial{Seed: 23667, Moves: []int{0, 3, 4, 5}, Without: []Disorder{Staleness, Crashes}}, "the same, before it had a deadline"},
	{Trial{Seed: 209423, Moves: []int{0, 1, 2, 8}, Without: quiet}, "a pause that the spec asked for no more went on while pods were missing, and no deadline counted"},
	{Trial{Seed: 509323, Routed: true, Moves: []int{2, 3, 5, 6, 7, 8, 10}, Without: []Disorder{Staleness, Crashes}}, "what carried everything held the room that the new version needed, the stable one being gone"},
	{Trial{Seed: 510089, Routed: true, Moves: []int{5, 7, 8}, Without: quiet}, "the same, with one pod of room"},
	{Trial{Seed: 510668, Hands: true, Moves: []int{2, 3, 4}, Without: []Disorder{Staleness, Crashes}}, "the active Service stayed with a switched version whose ReplicaSet was deleted"},
	{Trial{Seed: 1343, Moves: []int{0, 1, 2, 3, 4}, Without: []Disorder{Crashes, Delays}}, "the rules': pods that serve only since somebody freed the active Service were counted on"},
	{Trial{Seed: 511686, Moves: []int{4, 5, 6, 8, 9}, Without: quiet}, "the same, in mid-update"},
	{Trial{Seed: 1486, Moves: []int{8, 9, 10}, Without: quiet}, "nothing was pointed back while the new ReplicaSet was refused"},
	{Trial{Seed: 511812, Moves: []int{2, 7, 9, 11}, Without: quiet}, "the same, where what served was deleted"},
	{Trial{Seed: 511663, Moves: []int{0, 1, 3, 4, 5, 6}, Without: quiet}, "an overtaken version came back without its gates, since somebody's edit had sent to it"},
	{Trial{Seed: 122, Routed: true, Hands: true, Moves: []int{0, 3, 4, 6, 8, 9}, Without: []Disorder{Crashes}}, "what a Service carried that had lost its name went to a stable version without the pods for that"},
	{Trial{Seed: 2999, Moves: []int{5, 6, 7}, Without: quiet}, "the restart of a preview brought up a pod in each pass"},
	{Trial{Seed: 1205, Moves: []int{0, 1, 5}, Without: quiet}, "a rollback that began and ended in one pass had no clock, so nobody knew that it was one"},
	{Trial{Seed: 492, Shell: true, Standby: true, Hostile: true, Moves: []int{1, 3, 4}, Without: []Disorder{Staleness, Crashes, Timeouts}}, "the pass that found the name of the new ReplicaSet taken pointed nothing back"},
	{Trial{Seed: 319, Shell: true, Moves: []int{1, 4, 7}, Without: []Disorder{Crashes, Delays, Timeouts}}, "a version that a switch without a record had reached was overtaken without its delay"},
	{Trial{Seed: 516749, Hands: true, Moves: []int{1, 2, 6}, Without: quiet}, "the active Service stayed at a version that was scaled to nothing, the stable one being gone, while the preview had pods"},
	{Trial{Seed: 513350, Hands: true, Moves: []int{2, 3, 4}, Without: []Disorder{Crashes}}, "the same, behind stale caches"},
	{Trial{Seed: 493, Shell: true, Hostile: true, Moves: []int{0, 1, 2, 3, 4, 5, 7, 8, 9}, Without: []Disorder{Staleness}}, "the rules': pods that were killed a moment ago were counted on, though the pass had looked at them"},
}

var quiet = []Disorder{Staleness, Crashes, Delays}

func TestRegressions(t *testing.T) {
	for _, r := range regressions {
		if fault := Play(r.Trial, Real, nil); fault != nil {
			t.Errorf("%q is back: %v", r.fault, fault)
		}
		if mutant, ok := broken()[r.fault]; ok && Play(r.Trial, mutant, nil) == nil {
			t.Errorf("seed %d does not show %q any more: find another one", r.Seed, r.fault)
		}
	}
}
