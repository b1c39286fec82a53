package send

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"

	"github.com/argoproj/notifications-engine/pkg/services"
	slackutil "github.com/argoproj/notifications-engine/pkg/util/slack"
	"github.com/slack-go/slack"
	"k8s.io/utils/lru"

	"github.com/sluice-delivery/sluice/notifier/config"
	"github.com/sluice-delivery/sluice/notifier/deliver"
)

// threads is how many messages of a service are remembered, for later ones to answer or change.
const threads = 4096

// slackSender sends to Slack. Unlike the library's it does not wait itself when Slack is asked too often, which there delays all workspaces.
type slackSender struct {
	options services.SlackOptions
	client  *slack.Client
	threads *lru.Cache
}

// thread is the first message of a group.
type thread struct{ channel, at string }

func newSlack(o services.SlackOptions, n *Network) (Sender, error) {
	address := cmp.Or(o.ApiURL, slack.APIURL)
	client := slack.New(o.Token, slack.OptionHTTPClient(n.client(o.InsecureSkipVerify)), slack.OptionAPIURL(address))
	return &slackSender{o, client, lru.New(threads)}, nil
}

// Send posts the message, or changes the one that its group began with.
func (s *slackSender) Send(ctx context.Context, n services.Notification, to config.Destination) error {
	block := cmp.Or(n.Slack, &services.SlackNotification{})
	options, err := s.message(n.Message, block)
	if err != nil {
		return refused(err)
	}
	group := to.Recipient + "\n" + block.GroupingKey
	known, grouped := s.threads.Get(group)
	grouped = grouped && block.GroupingKey != ""
	if !grouped {
		at, err := s.post(ctx, to.Recipient, slack.MsgOptionPost(), broadcast(block), options)
		if err == nil && block.GroupingKey != "" {
			s.threads.Add(group, at)
		}
		return err
	}
	first := known.(thread)
	if block.DeliveryPolicy != slackutil.Update {
		if _, err := s.post(ctx, to.Recipient, slack.MsgOptionPost(), broadcast(block), options, slack.MsgOptionTS(first.at)); err != nil {
			return err
		}
	}
	if block.DeliveryPolicy != slackutil.Post {
		_, err = s.post(ctx, first.channel, slack.MsgOptionUpdate(first.at), slack.MsgOptionAsUser(true), options)
	}
	return err
}

func broadcast(block *services.SlackNotification) slack.MsgOption {
	if block.NotifyBroadcast {
		return slack.MsgOptionBroadcast()
	}
	return slack.MsgOptionCompose()
}

func (s *slackSender) post(ctx context.Context, channel string, options ...slack.MsgOption) (thread, error) {
	in, at, _, err := s.client.SendMessageContext(ctx, channel, options...)
	return thread{in, at}, slackError(err)
}

// theMessage are Slack's errors that are about the message, and come again with it.
var theMessage = map[string]bool{
	"invalid_blocks": true, "invalid_blocks_format": true, "invalid_attachments": true, "no_text": true, "msg_too_long": true,
	"too_many_attachments": true, "msg_blocks_too_long": true, "invalid_arguments": true, "attachment_payload_limit_exceeded": true,
}

func slackError(err error) error {
	switch limited, answer := (*slack.RateLimitedError)(nil), (slack.SlackErrorResponse{}); {
	case errors.As(err, &limited):
		return &deliver.Later{Err: err, Wait: min(limited.RetryAfter, longestLater)}
	case errors.As(err, &answer) && theMessage[answer.Err]:
		return refused(err)
	}
	return withoutSecrets(err)
}

var emoji = regexp.MustCompile(`^:.+:$`)

// message is the text, its looks, and who it is from.
func (s *slackSender) message(text string, block *services.SlackNotification) (slack.MsgOption, error) {
	all := []slack.MsgOption{slack.MsgOptionText(text, false)}
	if name := cmp.Or(block.Username, s.options.Username); name != "" {
		all = append(all, slack.MsgOptionUsername(name))
	}
	icon := cmp.Or(block.Icon, s.options.Icon)
	if u, err := url.Parse(icon); emoji.MatchString(icon) {
		all = append(all, slack.MsgOptionIconEmoji(icon))
	} else if err == nil && u.Host != "" {
		all = append(all, slack.MsgOptionIconURL(icon))
	}
	if block.Attachments != "" {
		var attachments []slack.Attachment
		if err := json.Unmarshal([]byte(block.Attachments), &attachments); err != nil {
			return nil, fmt.Errorf("failed to unmarshal attachments '%s' : %w", block.Attachments, err)
		}
		all = append(all, slack.MsgOptionAttachments(attachments...))
	}
	if block.Blocks != "" {
		var blocks slack.Blocks
		if err := json.Unmarshal([]byte(block.Blocks), &blocks); err != nil {
			return nil, fmt.Errorf("failed to unmarshal blocks '%s' : %w", block.Blocks, err)
		}
		all = append(all, slack.MsgOptionBlocks(blocks.BlockSet...))
	}
	if s.options.DisableUnfurl {
		all = append(all, slack.MsgOptionDisableLinkUnfurl(), slack.MsgOptionDisableMediaUnfurl())
	}
	return slack.MsgOptionCompose(all...), nil
}
