package kubelet

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/sluice-delivery/sluice/playground/serve"
)

// behavior is a pod's spec and annotations resolved into how it lives.
type behavior struct {
	inits, mains []container
	restarts     corev1.RestartPolicy
}

// container is all that decides how one container lives.
type container struct {
	name, image string
	pod         string // for messages: web-1_default(uid)
	uid         string
	first       string // the reason it waits for before it first starts
	held        held   // why it cannot start
	does        program
	restarts    corev1.RestartPolicy
	isInit      bool          // runs to its end before the next one starts
	isSidecar   bool          // an init container that stays
	startedIn   time.Duration // until its startup probe succeeds
	readyIn     time.Duration
	unreadyIn   time.Duration // counted from being ready
	againIn     time.Duration // counted from being unready
	preStop     time.Duration
	stopsIn     time.Duration // from SIGTERM to its end
	serves      *serve.App    // what it answers, if it is an HTTP server; nil otherwise
	port        int32         // where
	backoff     func(restarts int32) time.Duration
}

// held says why a container cannot start: first the reason, later the reason of backing off.
type held struct{ reason, message, later, laterMessage string }

// resolve reads a pod once, so that nobody below must look at optional fields.
func resolve(pod *corev1.Pod, o Options) behavior {
	w, problem := readWishes(pod, o)
	for i := range pod.Spec.Containers {
		if _, _, err := serve.Parse(pod.Spec.Containers[i].Image, pod.Annotations); err != nil {
			problem = err
		}
	}
	b := behavior{restarts: pod.Spec.RestartPolicy}
	for i := range pod.Spec.InitContainers {
		b.inits = append(b.inits, resolveInit(pod, &pod.Spec.InitContainers[i], w, problem, o))
	}
	for i := range pod.Spec.Containers {
		c := resolveContainer(pod, &pod.Spec.Containers[i], w, problem, o)
		if len(b.inits) > 0 {
			c.first = "PodInitializing"
		}
		b.mains = append(b.mains, c)
	}
	return b
}

func resolveContainer(pod *corev1.Pod, spec *corev1.Container, w wishes, problem error, o Options) container {
	c := container{
		name:      spec.Name,
		image:     spec.Image,
		pod:       fmt.Sprintf("%s_%s(%s)", pod.Name, pod.Namespace, pod.UID),
		uid:       string(pod.UID),
		first:     "ContainerCreating",
		held:      holdBack(spec.Image, w, problem),
		restarts:  pod.Spec.RestartPolicy,
		startedIn: initialDelay(spec.StartupProbe),
		readyIn:   w.readyAfter,
		unreadyIn: w.unreadyAfter,
		againIn:   w.readyAgainAfter,
		preStop:   preStop(spec.Lifecycle),
		stopsIn:   stopsIn,
		backoff:   o.backoff,
	}
	if spec.RestartPolicy != nil {
		c.restarts = corev1.RestartPolicy(*spec.RestartPolicy)
	}
	if c.readyIn != forever {
		c.readyIn += max(c.startedIn, initialDelay(spec.ReadinessProbe))
	}
	if app, serves, _ := serve.Parse(spec.Image, pod.Annotations); serves {
		c = c.serving(app, spec, w)
	}
	c.does = interpret(argv(spec))
	if c.does.unknown && c.restarts == corev1.RestartPolicyAlways {
		c.does = server
	}
	if w.crashAfter != forever {
		c.does = program{runs: w.crashAfter, exit: 1, message: "crashed because of annotation " + CrashLoopAnnotation}
	}
	return c
}

// serving is a container that is an HTTP server. Its readiness probe, if it has one, finds the port open a moment after that is so; without a probe
// it counts as ready as soon as it has started, listening or not, as for any kubelet.
func (c container) serving(app serve.App, spec *corev1.Container, w wishes) container {
	if app.Start == 0 && w.readyAfter != forever {
		app.Start = w.readyAfter
	}
	c.serves, c.port = &app, 8080
	if len(spec.Ports) > 0 {
		c.port = spec.Ports[0].ContainerPort
	}
	c.stopsIn += app.Latency
	switch {
	case w.readyAfter == forever:
	case spec.ReadinessProbe == nil:
		c.readyIn = 0
	default:
		c.readyIn = max(app.Start+probeTakes, initialDelay(spec.ReadinessProbe))
	}
	return c
}

// probeTakes is how long after its port is open the probe of a server has succeeded.
const probeTakes = 50 * time.Millisecond

func resolveInit(pod *corev1.Pod, spec *corev1.Container, w wishes, problem error, o Options) container {
	w.crashAfter, w.readyAfter, w.unreadyAfter = forever, 0, forever // These wishes are about what the pod is for.
	c := resolveContainer(pod, spec, w, problem, o)
	c.first = "PodInitializing"
	c.isSidecar = spec.RestartPolicy != nil && *spec.RestartPolicy == corev1.ContainerRestartPolicyAlways
	if c.isSidecar {
		return c
	}
	c.isInit = true
	if c.does = interpret(argv(spec)); c.does.unknown {
		c.does = program{} // Whatever it prepares is not needed here.
	}
	if spec.RestartPolicy == nil && pod.Spec.RestartPolicy == corev1.RestartPolicyAlways {
		c.restarts = corev1.RestartPolicyOnFailure
	}
	return c
}

func argv(spec *corev1.Container) []string {
	return append(append([]string{}, spec.Command...), spec.Args...)
}

func holdBack(image string, w wishes, problem error) held {
	if problem != nil {
		return held{"CreateContainerConfigError", problem.Error(), "CreateContainerConfigError", problem.Error()}
	}
	if w.pullFails || imageTag(image) == badTag {
		message := pullError(image)
		return held{"ErrImagePull", message, "ImagePullBackOff", fmt.Sprintf("Back-off pulling image %q: ErrImagePull: %s", image, message)}
	}
	return held{}
}

func initialDelay(probe *corev1.Probe) time.Duration {
	if probe == nil {
		return 0
	}
	return time.Duration(probe.InitialDelaySeconds) * time.Second
}

// preStop is how long the hook before a container's end takes.
func preStop(l *corev1.Lifecycle) time.Duration {
	switch {
	case l == nil || l.PreStop == nil:
		return 0
	case l.PreStop.Sleep != nil:
		return time.Duration(l.PreStop.Sleep.Seconds) * time.Second
	case l.PreStop.Exec != nil:
		return interpret(l.PreStop.Exec.Command).runs
	}
	return 0
}

// backoff is the wait before a container starts again that was already restarted the given number of times.
func (o Options) backoff(restarts int32) time.Duration {
	if restarts == 0 {
		return 0
	}
	wait := o.CrashBackoff
	for ; restarts > 1 && wait < o.CrashBackoffMax; restarts-- {
		wait *= 2
	}
	return min(wait, o.CrashBackoffMax)
}
