package dashboard

import (
	"context"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/clean"
	"github.com/sluice-delivery/sluice/internal/cli/live"
)

// announce writes an event that says who did what, and returns what the person should know if it cannot be written. People need no right to
// write events; the dashboard has it. The audit log of the API server has the person's name in any case.
func (s *Server) announce(ctx context.Context, p *person, ro *v1alpha1.Rollout, a action) string {
	if p.own {
		return ""
	}
	event := live.UserAction(ro, a.Past, clean.Text(p.Name), v1alpha1.DashboardEventSource, s.Clock.Now())
	if err := s.Client.WriteEvent(ctx, event); err != nil {
		return " No event could be written: " + err.Error()
	}
	return ""
}
