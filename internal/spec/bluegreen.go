package spec

import (
	"math"
	"time"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// BlueGreen brings up a full stack of the new version beside the old one and switches a Service between them.
type BlueGreen struct {
	ActiveService string
	// PreviewService is empty where there is none.
	PreviewService string
	// PreviewReplicas is the new stack's size until the gate is passed, if PreviewLimited; otherwise it is full from the start.
	PreviewReplicas int32
	PreviewLimited  bool
	// Gate is the pause before the switch, nil for none.
	Gate *Pause
	// ScaleDownDelay is how long an old stack is kept after the switch.
	ScaleDownDelay time.Duration
	// ScaleDownDelayRevisionLimit is how many old stacks are kept so at most.
	ScaleDownDelayRevisionLimit int
	// AbortScaleDownDelay is how long the new stack is kept after an abort, if AbortScaleDown; otherwise it stays.
	AbortScaleDownDelay time.Duration
	AbortScaleDown      bool
	// NewMetadata is for the pods of the new version during an update, StableMetadata for those of the stable one.
	NewMetadata, StableMetadata Metadata
	AntiAffinity                AntiAffinity
	// MaxUnavailable is how many pods may be missing in an update, and while pods are restarted.
	MaxUnavailable int32
	// PrePromotion is the analysis before the switch, PostPromotion the one behind it; nil for none.
	PrePromotion, PostPromotion *Analysis
	// PostPromotionLimit ends the analysis after the switch, so that the old pods can be deleted; zero for never.
	PostPromotionLimit time.Duration
}

func (BlueGreen) isStrategy() {}

const blueGreenField = "spec.strategy.blueGreen"

func (p *problems) blueGreen(b *v1alpha1.BlueGreenStrategy, replicas int32, historyLimit int) BlueGreen {
	if b.ActiveService == "" {
		p.add(blueGreenField+".activeService", "is empty: name the Service that production traffic goes through")
	}
	if b.ActiveService != "" && b.ActiveService == b.PreviewService {
		p.add(blueGreenField+".previewService", "previewService must be another Service than activeService; leave it out if there is none: both are %q", b.PreviewService)
	}
	out := BlueGreen{
		ActiveService:               b.ActiveService,
		PreviewService:              b.PreviewService,
		PreviewReplicas:             orDefault(b.PreviewReplicaCount, replicas),
		PreviewLimited:              b.PreviewReplicaCount != nil,
		Gate:                        gate(b),
		ScaleDownDelay:              seconds(orDefault(b.ScaleDownDelaySeconds, v1alpha1.DefaultScaleDownDelaySeconds)),
		ScaleDownDelayRevisionLimit: int(orDefault(b.ScaleDownDelayRevisionLimit, math.MaxInt32)),
		AbortScaleDownDelay:         seconds(orDefault(b.AbortScaleDownDelaySeconds, v1alpha1.DefaultAbortScaleDownDelaySeconds)),
		MaxUnavailable:              p.blueGreenUnavailable(b.MaxUnavailable, replicas),
	}
	p.promotionAnalyses(&out, b)
	out.AbortScaleDown = out.AbortScaleDownDelay > 0
	out.NewMetadata, out.StableMetadata = metadata(b.PreviewMetadata), metadata(b.ActiveMetadata)
	out.AntiAffinity = p.antiAffinity(blueGreenField+".antiAffinity", b.AntiAffinity)
	if b.ScaleDownDelayRevisionLimit != nil && out.ScaleDownDelayRevisionLimit > historyLimit {
		p.add(blueGreenField+".scaleDownDelayRevisionLimit", "scaleDownDelayRevisionLimit must not exceed revisionHistoryLimit (10 unless set): lower the one or raise the other: they are %d and %d",
			out.ScaleDownDelayRevisionLimit, historyLimit)
	}
	for _, n := range []struct {
		field string
		value int32
	}{
		{"previewReplicaCount", out.PreviewReplicas},
		{"autoPromotionSeconds", b.AutoPromotionSeconds},
		{"scaleDownDelaySeconds", int32(out.ScaleDownDelay / time.Second)},
		{"scaleDownDelayRevisionLimit", int32(out.ScaleDownDelayRevisionLimit)},
		{"abortScaleDownDelaySeconds", int32(out.AbortScaleDownDelay / time.Second)},
	} {
		if n.value < 0 {
			p.add(blueGreenField+"."+n.field, "%d is negative: write 0 or more", n.value)
		}
	}
	return out
}

// gate reads the pause before the switch: without end where promotion is a person's business, and autoPromotionSeconds counts for
// nothing then.
func gate(b *v1alpha1.BlueGreenStrategy) *Pause {
	switch {
	case b.AutoPromotionEnabled != nil && !*b.AutoPromotionEnabled:
		return &Pause{Indefinite: true}
	case b.AutoPromotionSeconds > 0:
		d := seconds(b.AutoPromotionSeconds)
		return &Pause{Duration: d, Written: d.String()}
	}
	return nil
}
