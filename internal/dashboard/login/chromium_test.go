package login

import (
	"context"
	"testing"

	"github.com/chromedp/chromedp"

	chrome "github.com/sluice-delivery/sluice/internal/dashboard/browser"
	"github.com/sluice-delivery/sluice/internal/playtest"
)

// chromium is a browser that trusts the certificates of the test's two servers.
func chromium(t *testing.T) context.Context {
	t.Helper()
	return chrome.Chromium(t, chromedp.Flag("ignore-certificate-errors", true))
}

// Jane logs in at the provider and promotes; Sam, who may only look, has the same page open, sees it happen, and is offered nothing.
func TestTwoPeopleInTheBrowser(t *testing.T) {
	jane, sam := chromium(t), chromium(t)
	ns := playtest.New(t)
	ns.StartController()
	paused(t, ns, "storefront")
	see := rule("get list watch", "argoproj.io,apps,", "rollouts analysisruns experiments analysistemplates pods replicasets services events")
	grant(t, ns, "Group", "rollouts-users", see, rule("patch update", "argoproj.io", "rollouts rollouts/status"))
	grant(t, ns, "User", "sam@example.com", see)
	o := newOffice(t, ns, nil)
	page := o.web.URL + "/rollouts/rollout/" + ns.Name + "/storefront"

	o.is("sam@example.com")
	chrome.Do(sam, t, "sam logs in", chromedp.Navigate(page), chrome.Shows(".me", "sam@example.com"), chrome.Shows("#link", "live"), chrome.Shows("#f-head", "Paused"))
	o.is("jane@example.com", "rollouts-users")
	chrome.Do(jane, t, "jane logs in", chromedp.Navigate(page), chrome.Shows(".me", "jane@example.com"), chrome.Shows("#link", "live"), chrome.Shows(".actions", "Promote"))

	var why, asked string
	chrome.Do(sam, t, "sam is told why not", chrome.Holds("promote is gray", `document.querySelector('.actions [aria-disabled=true]')?.innerText === 'Promote'`),
		chromedp.Evaluate(`document.querySelector('.actions [aria-disabled=true]').title`, &why), chrome.Press("p"),
		chromedp.Evaluate(`document.querySelector('#ask').open ? 'asked' : ''`, &asked))
	if why == "" || asked != "" {
		t.Errorf("the reason is %q, and the key %q", why, asked)
	}
	chrome.Do(sam, t, "sam opens the address of the action all the same", chromedp.Navigate(page+"/promote"), chrome.Shows("#question", "Promote: storefront"),
		chromedp.Click("#question form[method=post] button", chromedp.ByQuery), chrome.Shows(".notice.bad", `User "sam@example.com" cannot patch`), chromedp.Navigate(page), chrome.Shows("#link", "live"))
	if phase := ns.Rollout("storefront").Status.Phase; phase != "Paused" {
		t.Errorf("sam has made it %s", phase)
	}

	chrome.Do(jane, t, "jane promotes", chrome.Press("p"), chrome.Shows("#ask", "The engine would now:"), chrome.Confirm(), chrome.Shows(".flash", "promoted"), chrome.Shows("#f-head", "Healthy"),
		chrome.Shows("#f-events", "promoted by jane@example.com"))
	ns.WaitForRollout("storefront", "to be Healthy", playtest.Healthy)
	chrome.Do(sam, t, "sam sees it", chrome.Shows("#f-head", "Healthy"), chrome.Shows("#f-steps", "2 of 2 done"))

	chrome.Do(jane, t, "jane logs out", chromedp.Click(".me summary", chromedp.ByQuery), chromedp.Click(".me button", chromedp.ByQuery), chrome.Shows("body", "Logged out"))
	o.is("sam@example.com")
	chrome.Do(jane, t, "someone else logs in there", chromedp.Navigate(page), chrome.Shows(".me", "sam@example.com"))
}

// The dashboard is restarted while a page is open. Another process with the same key knows the person: the page goes on by itself, and what it
// asked before the restart may be answered after it.
func TestARestartLogsNobodyOut(t *testing.T) {
	ctx := chromium(t)
	ns := playtest.New(t)
	ns.StartController()
	paused(t, ns, "storefront")
	grant(t, ns, "User", "jane@example.com", rule("*", "argoproj.io,apps,", "*"))
	o := newOffice(t, ns, nil)
	o.is("jane@example.com")
	page := o.web.URL + "/rollouts/rollout/" + ns.Name + "/storefront"
	chrome.Do(ctx, t, "log in, and be asked", chromedp.Navigate(page), chrome.Shows("#link", "live"), chrome.Shows(".actions", "Promote"), chromedp.Evaluate(`window.same = true`, nil),
		chrome.Press("p"), chrome.Shows("#ask", "Promote: storefront"))
	o.stop()
	chrome.Do(ctx, t, "notice that it is gone", chrome.Shows("#link", "connection lost"))
	o.is("nobody@example.com") // a login would be seen
	o.begin()
	var same bool
	chrome.Do(ctx, t, "go on", chrome.Shows("#link", "live"), chromedp.Evaluate(`window.same === true`, &same), chrome.Confirm(), chrome.Shows(".flash", "promoted"), chrome.Shows(".me", "jane@example.com"))
	if !same {
		t.Error("the page was loaded again")
	}
	ns.WaitForRollout("storefront", "to be Healthy", playtest.Healthy)
	ns.WaitForEvents("storefront", "UserAction promoted by jane@example.com")
}
