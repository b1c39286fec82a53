package kubelet

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/sluice-delivery/sluice/playground/serve"
)

// serve has the servers of a pod run, be told to stop, and end, as its status is about to say. A server that cannot run holds the pod back: it is
// tried again.
func (k *kubelet) serve(s sighting, status corev1.PodStatus, now time.Time) error {
	if k.options.Serve == nil {
		return nil
	}
	for _, c := range resolve(s.pod, k.options).mains {
		if c.serves == nil {
			continue
		}
		is := c.find(status.ContainerStatuses)
		key := serve.Key{Pod: string(s.pod.UID), Container: is.ContainerID}
		if was := c.find(s.pod.Status.ContainerStatuses); was.ContainerID != is.ContainerID {
			k.options.Serve.Kill(serve.Key{Pod: string(s.pod.UID), Container: was.ContainerID})
		}
		switch {
		case is.State.Running == nil:
			k.options.Serve.Kill(key)
		case s.pod.DeletionTimestamp == nil:
			if err := k.options.Serve.Run(key, s.pod.Namespace+"/"+s.pod.Name, s.podIP, c.port, *c.serves); err != nil {
				return err
			}
		case !now.Before(s.deleted.Add(c.preStop)):
			k.options.Serve.Stop(key)
		}
	}
	return nil
}
