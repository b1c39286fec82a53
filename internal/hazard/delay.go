package hazard

import "github.com/sluice-delivery/sluice/api/v1alpha1"

// shortest is how long old pods should be kept: as long as it may take until every node and load balancer has updated its
// endpoints.
const shortest = v1alpha1.DefaultScaleDownDelaySeconds

func (f *finder) blueGreen(b *v1alpha1.BlueGreenStrategy) {
	const field = "spec.strategy.blueGreen"
	f.unavailable(field+".maxUnavailable", b.MaxUnavailable)
	f.delays(field, b.ScaleDownDelaySeconds, b.AbortScaleDownDelaySeconds)
	if n := b.PreviewReplicaCount; n != nil && *n > f.replicas {
		f.add(LargePreview, field+".previewReplicaCount",
			"%s for the preview is more than spec.replicas, which is %d: the new version is scaled down to that before traffic moves; set %d or less",
			pods(*n), f.replicas, f.replicas)
	}
	if enabled := b.AutoPromotionEnabled; enabled != nil && !*enabled && b.AutoPromotionSeconds > 0 {
		f.add(NoEffect, field+".autoPromotionSeconds",
			"has no effect with autoPromotionEnabled: false, which waits for a user to promote: remove one of the two")
	}
}

func (f *finder) delays(field string, delay, abort *int32) {
	if delay != nil && *delay >= 0 && *delay < shortest {
		f.add(ShortDelay, field+".scaleDownDelaySeconds",
			"the old pods are deleted %d s after the switch, while nodes and load balancers may still send them traffic: set %d or more",
			*delay, shortest)
	}
	if abort != nil && *abort == 0 {
		f.add(KeptForever, field+".abortScaleDownDelaySeconds",
			"with 0, the pods of an aborted update are kept until the next update: set 1 or more to have them deleted")
	}
}
