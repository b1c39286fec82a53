package plugin

import (
	"context"
	"errors"
	"fmt"
	"net/rpc"
)

// Question is what a plugin is asked.
type Question struct {
	ID
	// Tenant is the namespace for which it is asked.
	Tenant string
	Method string
	// Args is one of the messages of api/plugin, nil for none.
	Args any
}

// errLate is the end of the time that an answer may take.
var errLate = errors.New("the time is up")

// Ask asks a plugin, which is started if need be. The error is for the user: it names the plugin, and what to do where that is known.
func Ask[A any](ctx context.Context, h *Host, q Question) (A, error) {
	var none A
	p, err := h.running(ctx, q.ID)
	if err != nil {
		return none, err
	}
	if err := p.calls.Take(ctx, q.Tenant); err != nil {
		return none, fmt.Errorf("%s is busy: %d calls are under way", q.ID, mostCalls)
	}
	defer p.calls.Give(q.Tenant)
	ctx, cancel := context.WithTimeoutCause(ctx, p.entry.timeout(), errLate)
	defer cancel()
	answer, err := ask[A](ctx, p, q.Method, q.Args)
	var said rpc.ServerError
	switch {
	case err == nil:
		return answer, nil
	case errors.As(err, &said):
		return none, fmt.Errorf("%s: %s rpc call error: %s", q.ID, q.Method, short(said.Error()))
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return none, fmt.Errorf("%s: %s was not waited for", q.ID, q.Method) // that is not the plugin's fault
	case errors.Is(err, errLate):
		err = fmt.Errorf("%s did not answer %s within %s", q.ID, q.Method, p.entry.timeout())
	default:
		err = fmt.Errorf("%s: %s rpc call error: %w", q.ID, q.Method, err)
	}
	h.failed(p, err)
	return none, err
}

// ask asks a process and waits for its answer, or the end of ctx. What comes later is thrown away.
func ask[A any](ctx context.Context, p *process, method string, args any) (A, error) {
	type outcome struct {
		answer A
		err    error
	}
	done := make(chan outcome, 1)
	go func() { // to write the question may take as long as to read the answer
		var o outcome
		o.err = p.service.Call("Plugin."+method, &args, &o.answer)
		done <- o
	}()
	select {
	case o := <-done:
		return o.answer, o.err
	case <-ctx.Done():
		var none A
		return none, context.Cause(ctx)
	}
}
