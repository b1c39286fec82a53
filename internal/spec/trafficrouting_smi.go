package spec

import "github.com/sluice-delivery/sluice/api/v1alpha1"

func (p *problems) smi(field string, s *v1alpha1.SMITrafficRouting) SMI {
	out := SMI{Field: field, NameField: field + ".trafficSplitName", RootService: s.RootService, Split: s.TrafficSplitName}
	if out.Split != "" {
		p.object(out.NameField, "TrafficSplit", out.Split)
	}
	if out.RootService != "" {
		p.object(field+".rootService", "Service", out.RootService)
	}
	return out
}
