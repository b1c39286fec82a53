//go:build linux

package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// controllerUser is who the controller is to the API server.
const controllerUser = "system:serviceaccount:argo-rollouts:argo-rollouts"

// request is one line of an API server's audit log, as far as it matters here.
type request struct {
	Verb                     string
	RequestReceivedTimestamp time.Time
	User                     struct{ Username string }
	ObjectRef                *struct{ Resource, Subresource, Namespace, Name string }
	ResponseStatus           struct{ Code int }
}

func (r request) resource() string {
	if r.ObjectRef.Subresource == "" {
		return r.ObjectRef.Resource
	}
	return r.ObjectRef.Resource + "/" + r.ObjectRef.Subresource
}

// counts reports whether it is what rollouts cost: a watch is a read that lasts, and leases are the election's.
func (r request) counts() bool {
	return r.ObjectRef != nil && r.Verb != "watch" && r.ObjectRef.Resource != "leases"
}

// requests are counted by verb and resource.
type requests map[string]int

func (r requests) add(other requests) requests {
	sum := requests{}
	for _, part := range []requests{r, other} {
		for kind, n := range part {
			sum[kind] += n
		}
	}
	return sum
}

func (r requests) sum(of func(verb, resource string) bool) int {
	total := 0
	for kind, n := range r {
		verb, resource, _ := strings.Cut(kind, " ")
		if of(verb, resource) {
			total += n
		}
	}
	return total
}

func isRead(verb, _ string) bool         { return verb == "get" || verb == "list" }
func isWrite(verb, resource string) bool { return !isRead(verb, resource) }
func isEvent(verb, resource string) bool { return isWrite(verb, resource) && resource == "events" }
func (r requests) reads() int            { return r.sum(isRead) }
func (r requests) writes() int           { return r.sum(isWrite) }
func (r requests) events() int           { return r.sum(isEvent) }

// auditLog is read piece by piece.
type auditLog struct {
	path   string
	offset int64
}

// read returns the controller's requests since the last call, and how many came from others.
func (a *auditLog) read() (all []request, others int, err error) {
	file, err := os.Open(a.path)
	if err != nil {
		return nil, 0, err
	}
	defer file.Close() //nolint:errcheck // it is only read
	if _, err := file.Seek(a.offset, io.SeekStart); err != nil {
		return nil, 0, err
	}
	lines := bufio.NewReader(file)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return all, others, nil // the rest of the line comes later
		}
		if err != nil {
			return nil, 0, err
		}
		a.offset += int64(len(line))
		var r request
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, 0, fmt.Errorf("read the audit log: %w", err)
		}
		switch {
		case !r.counts():
		case r.User.Username == controllerUser:
			all = append(all, r)
		default:
			others++
		}
	}
}

func count(all []request) requests {
	counted := requests{}
	for _, r := range all {
		counted[r.Verb+" "+r.resource()]++
	}
	return counted
}

// printTrace prints the requests for one rollout, in the order in which they came.
func printTrace(all []request, rollout string) {
	slices.SortFunc(all, func(a, b request) int { return a.RequestReceivedTimestamp.Compare(b.RequestReceivedTimestamp) })
	n := 0
	var start time.Time
	for _, r := range all {
		name := r.ObjectRef.Name
		if name != rollout && !strings.HasPrefix(name, rollout+"-") && !strings.HasPrefix(name, rollout+".") {
			continue
		}
		if n == 0 {
			start = r.RequestReceivedTimestamp
		}
		n++
		fmt.Fprintf(os.Stderr, "%3d %7.3f s  %-6s %-22s %s %d\n", n, r.RequestReceivedTimestamp.Sub(start).Seconds(), r.Verb, r.resource(), name, r.ResponseStatus.Code)
	}
}
