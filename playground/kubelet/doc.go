// Package kubelet simulates what the playground has no machines for: nodes, a kubelet for each of them, and the scheduler.
// Everything above (API server, ReplicaSets, Jobs, EndpointSlices, disruption budgets) is real; here pods come to life by
// having their status written, and nothing from a manifest is ever executed.
//
// # How data flows
//
//	pods informer ─► queue ─► sighting (pod + exact times + address) ─► next(sighting, now) ─► patch status / delete
//	                   ▲                                                       │
//	                   └──────────────────────── wake ◄────────────────────────┘
//
// next is a pure function: the whole life of a pod, its containers, its conditions and its end are decided there from what is
// seen and what time it is. The loop around it (kubelet.go) writes the outcome and comes back when next asked to. It needs no
// goroutine per pod. place is the scheduler's pure function in the same way, and scheduler.go its loop.
//
// The API keeps times in whole seconds, too coarse for a pod that is ready after 300 ms. So a record for each pod remembers,
// as a real kubelet does, the status as it was last decided, with exact times. After a restart there is no such memory; the
// status in the API is then where life goes on: pods that run keep running and keep their addresses.
//
// # Annotations
//
// Annotations on a pod define how it behaves. All may be set and changed while the pod runs. A duration is one of Go's
// ("1m30s") or a number of seconds ("90"). A value that does not parse keeps the containers from starting, with the reason
// CreateContainerConfigError and a message that says what is valid.
//
//	playground.sluice.dev/ready-after        3s | never   ready this long after its containers started, instead of
//	                                                      Options.PodReadyAfter; the probe's initialDelaySeconds comes on top
//	playground.sluice.dev/unready-after      30s          unready again this long after it became ready
//	playground.sluice.dev/ready-again-after  10s          and ready once more this long after that
//	playground.sluice.dev/image-pull         fail         its images are never pulled (so is any image with the tag "bad")
//	playground.sluice.dev/crash-loop         true | 5s    its containers crash as they start, or this long after; repeatedly
//
// # Commands
//
// Containers that are to end (those of Jobs) end as their command says, which is interpreted: sleep, exit, true, false, echo,
// joined by && || ; or new lines, bare or as the script of sh -c. Anything else ends with exit code 127 and a message that
// says so. In a pod whose containers always restart, such a command is a server: it runs until it is stopped. A preStop hook
// is served the same way: a sleep takes its time, whatever else is done at once.
//
// # Why not kwok
//
// sigs.k8s.io/kwok was considered, and its idea of behavior as data is kept. But its stages are templates with delays, which
// cannot say what rollouts need: exit codes from a command, back-off that grows with the restarts, sleep in a preStop hook,
// init containers in order; and each stage's delay starts from a whole second. It would also bring a jq interpreter, its
// CRDs and their informers into a binary that wants to be small, and it does not bind pods.
//
// # What must not be here
//
// Nothing of k8s.io/kubernetes, no knowledge of rollouts, no execution, no clock but Options.Clock, and no sleep.
package kubelet
