// Package dashboard shows the Rollouts of a cluster in a browser, live, and lets people steer them.
//
//	live.Cache ──► hub ──► rows ─────► list ─┐
//	        └────► view.Of, explain.Of ► page ─┴─► html/template ─► fragments ─► page, or events of what changed
//
//	server.go   paths, and who is let in
//	guard.go    which requests are answered: host, origin, session, form token, limits
//	person.go   who looks, and what of the cache he may see
//	door.go     who is let in where several people use it: package login
//	event.go    who did what, as an event of the Rollout
//	hub.go      changes of the cache to rows that all viewers share, and wake-ups for viewers
//	row.go      the list: filters, order, pages
//	pages.go    what the pages show
//	detail.go   what is read of a Rollout while its page is open: explanation and events
//	stream.go   a page as server-sent events of its fragments
//	runs.go     pages of AnalysisRuns and Experiments
//	routes.go   Services and routes as they are
//	compare.go  two revisions, and what is different
//	embed.go    what other sites show: badges and tiles
//	actions.go  what a person can do
//	foresee.go  what would follow an action
//	outlook.go  what comes next and when
//	confirm.go  the page that asks back, with what the engine would do
//	api.go      the REST paths that scripts use, info.go their messages
//	chart.go    charts as SVG
//	render.go   templates, and what they call
//
// Every page works without JavaScript. With it, an EventSource at the page's own address brings the fragments that change, and static/app.js
// puts them in.
//
// What must not be here: decisions about rollouts, and anything written to the cluster that internal/cli/act does not write.
package dashboard
