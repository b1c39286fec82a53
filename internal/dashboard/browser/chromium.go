package browser

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/sluice-delivery/sluice/internal/playtest"
)

// Chromium is a browser of its own for the test. Where there is none the test is skipped; in CI it fails.
func Chromium(t *testing.T, options ...chromedp.ExecAllocatorOption) context.Context {
	t.Helper()
	path, err := exec.LookPath("chromium")
	switch {
	case err == nil:
	case os.Getenv("SLUICE_NO_SKIP") != "":
		t.Fatalf("this test needs Chromium, and SLUICE_NO_SKIP forbids to skip it: %v", err)
	default:
		t.Skipf("this test needs Chromium: apt-get install chromium (%v)", err)
	}
	options = append(append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.WindowSize(1280, 900)), options...)
	allocator, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancel := chromedp.NewContext(allocator, chromedp.WithErrorf(func(string, ...any) {})) // it names events that it does not know
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 2*playtest.Patience)
	t.Cleanup(cancel)
	return ctx
}

// Do does something in the browser, and ends the test with what the page shows if it fails.
func Do(ctx context.Context, t *testing.T, what string, actions ...chromedp.Action) {
	t.Helper()
	if err := chromedp.Run(ctx, actions...); err != nil {
		var page string
		_ = chromedp.Run(ctx, chromedp.Text("body", &page, chromedp.ByQuery)) // the error above is what matters
		t.Fatalf("%s: %v\n%s", what, err, page)
	}
}

// Shows waits until an element shows a text, across pages.
func Shows(selector, text string) chromedp.Action {
	return Holds(fmt.Sprintf("%s shows %q", selector, text), fmt.Sprintf("!!document.querySelector(%q)?.innerText?.includes(%q)", selector, text))
}

// Holds waits until an expression of the page is true, across pages.
func Holds(what, expression string) chromedp.Action {
	return chromedp.ActionFunc(func(ctx context.Context) error {
		again := time.NewTicker(50 * time.Millisecond)
		defer again.Stop()
		end := time.After(playtest.Patience)
		for {
			var yes bool
			if err := chromedp.Evaluate(expression, &yes).Do(ctx); err == nil && yes { // between two pages there is nothing to ask
				return nil
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-end:
				return fmt.Errorf("it is not so that %s", what)
			case <-again.C:
			}
		}
	})
}

// Press presses a key once the page answers keys: what it shows comes before its script.
func Press(key string) chromedp.Action {
	return chromedp.Tasks{Holds("the page answers keys", `document.body.classList.contains('scripted')`), chromedp.KeyEvent(key)}
}

// Confirm answers the question that is open.
func Confirm() chromedp.Action {
	return chromedp.Tasks{chromedp.WaitVisible("#ask[open] button.main", chromedp.ByQuery), chromedp.Click("#ask[open] button.main", chromedp.ByQuery)}
}
