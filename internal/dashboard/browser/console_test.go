package browser_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/sluice-delivery/sluice/internal/dashboard/browser"
)

// console is what a page complains about: errors, refusals of the content policy, dialogs.
type console struct {
	mu    sync.Mutex
	lines []string
}

func newConsole(ctx context.Context) *console {
	c := &console{}
	chromedp.ListenTarget(ctx, func(event any) {
		c.mu.Lock()
		defer c.mu.Unlock()
		switch e := event.(type) {
		case *log.EventEntryAdded:
			c.lines = append(c.lines, fmt.Sprintf("%s: %s %s", e.Entry.Level, e.Entry.Text, e.Entry.URL))
		case *runtime.EventExceptionThrown:
			c.lines = append(c.lines, e.ExceptionDetails.Error())
		case *page.EventJavascriptDialogOpening:
			c.lines = append(c.lines, "dialog: "+e.Message)
		}
	})
	return c
}

func (c *console) said() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.lines)
}

// titled waits until the page's title has a word.
func titled(word string) chromedp.Action {
	return browser.Holds("the title has "+word, fmt.Sprintf("document.title.includes(%q)", word))
}

// framed is what became of the frame of a page: shown or refused. The browser puts a page of its own in the place of one that it refuses.
func framed(ctx context.Context, t *testing.T, addr string) string {
	t.Helper()
	var tree *page.FrameTree
	do(ctx, t, "look into the frame", chromedp.ActionFunc(func(ctx context.Context) (err error) {
		tree, err = page.GetFrameTree().Do(ctx)
		return err
	}))
	for _, child := range tree.ChildFrames {
		if child.Frame.UnreachableURL == "" && strings.Contains(child.Frame.URL, addr) {
			return "shown"
		}
	}
	return "refused"
}
