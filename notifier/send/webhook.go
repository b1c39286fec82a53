package send

import (
	"cmp"
	"context"
	"net/http"
	"strings"

	"github.com/argoproj/notifications-engine/pkg/services"

	"github.com/sluice-delivery/sluice/notifier/config"
)

type webhook struct {
	options services.WebhookOptions
	network *Network
}

// newWebhook returns a sender of HTTP requests. How often it tries is the queue's business, so that the retry settings are not needed.
func newWebhook(o services.WebhookOptions, n *Network) (Sender, error) {
	if o.URL == "" {
		return nil, errNowhere
	}
	return &webhook{o, n}, nil
}

// Send makes the request of the block webhook.NAME, or without one a GET with the message.
func (w *webhook) Send(ctx context.Context, n services.Notification, to config.Destination) error {
	method, address, body := http.MethodGet, w.options.URL, n.Message
	if block, ok := n.Webhook[to.Service]; ok {
		method, body = cmp.Or(block.Method, method), block.Body
		if block.Path != "" {
			address = strings.TrimRight(address, "/") + "/" + strings.TrimLeft(block.Path, "/")
		}
	}
	r, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(body))
	if err != nil {
		return refusedf("%w", err)
	}
	for _, h := range w.options.Headers {
		r.Header.Set(h.Name, h.Value)
	}
	if a := w.options.BasicAuth; a != nil {
		r.SetBasicAuth(a.Username, a.Password)
	}
	_, err = do(w.network.client(w.options.InsecureSkipVerify), r)
	return err
}
