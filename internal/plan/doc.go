// Package plan decides what happens next to a Rollout. It is the engine: everything that is hard about a rollout is here, and
// nothing here touches the world.
//
// [Next] takes what was observed and returns a [Plan]: what to create and scale, what to write into the status, which events to publish,
// when to look again, and every decision with its reason. It is a pure function: no clock, no client, no logger, no random
// numbers, no state. The controller, the simulator and the tests all call it, and equal inputs give equal plans.
//
// The engine has rooms: packages that import each other in one direction, from the ground up. The linter holds the direction, and
// make verify how large a room's type may be.
//
//	capacity    arithmetic: how many pods, how much traffic; whole numbers only
//	world       what is there: versions in order, Services, routes, analyses, pods. Read only
//	progress    where the update stands: the status being written, its State, steps, pauses, verdicts, what people asked for
//	draft       the writes of this pass: sizes of ReplicaSets, Services, routes
//	restart     pods that are replaced without a new version
//	podmeta     labels and annotations for the part that a version plays; anti-affinity keeps versions apart
//	judge       analyses and Experiments: begun, awaited, judged, ended, forgotten
//	pluginstep  steps that plugins carry out: what to ask, and what the answers mean
//	target      what a strategy wants: pods, Services, versions of no use
//	basic       a canary without a router: the share of the pods is the share of the traffic
//	routed      a canary whose traffic routers split: what its step wants, what the routers do, and what they are told
//	bluegreen   two stacks, and a Service that switches between them
//	move        how far all of that may go now: promises, and a rule for each way in which one could be broken
//	canary      the canary's steps, and its promotion
//	status      what the status says: conditions, phase, counts, the clock of the update, the record. It decides nothing
//	plan        the way through all of these (next.go), revisions, history, adoption, the workload that a template comes from
//
// Two habits keep a crash between any two writes harmless. Names of children follow from the template, so doing a thing twice
// is doing it once. And a pass acts on the step that is recorded: where it decides to go on to the next one it records that and
// changes no ReplicaSet, so that nobody can find pods of a step that no status knows of.
//
// What must not be here: reading the clock, Kubernetes clients, logging, anything random; strings meant for one router or one
// command only.
package plan
