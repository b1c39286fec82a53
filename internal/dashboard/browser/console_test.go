package browser_test

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
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
