package lint

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// Wrong is an entry of a ConfigMap that cannot be used, and why.
type Wrong struct {
	Key     string `json:"key"`
	Message string `json:"message"`
}

// Notifications checks the ConfigMap of notifications. Templates and triggers are the notifier's, which is another program.
type Notifications func(context.Context, *corev1.ConfigMap) ([]Wrong, error)

// checkNotifications looks at the ConfigMaps that configure notifications.
func (l *linter) checkNotifications(ctx context.Context, check Notifications) error {
	for _, o := range l.objects {
		m, ok := o.typed.(*corev1.ConfigMap)
		if !ok || m.Name != v1alpha1.NotificationConfigMapName {
			continue
		}
		wrong, err := check(ctx, m)
		if err != nil {
			return err
		}
		for _, w := range wrong {
			l.report(InvalidNotification, o, "data."+w.Key, "%s", w.Message)
		}
	}
	return nil
}
