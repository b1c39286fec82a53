package conformance

import (
	"maps"
	"runtime"
	"slices"
	"testing"
)

// Finds is the first test of the suite that fails with a subject, empty if none does. It is for routers that have a fault.
func Finds(t testing.TB, s Subject) string {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(tests)) {
		if fails(t, s, tests[name]) {
			return name
		}
	}
	return ""
}

func fails(t testing.TB, s Subject, test func(testing.TB, Subject)) bool {
	t.Helper()
	r := &recorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { r.failed = recover() != nil || r.failed }()
		test(r, s)
	}()
	<-done
	return r.failed
}

// recorder is a test that may fail.
type recorder struct {
	testing.TB
	failed bool
}

// Helper implements [testing.TB].
func (*recorder) Helper() {}

// Log implements [testing.TB].
func (*recorder) Log(...any) {}

// Logf implements [testing.TB].
func (*recorder) Logf(string, ...any) {}

// Failed implements [testing.TB].
func (r *recorder) Failed() bool { return r.failed }

// Fail implements [testing.TB].
func (r *recorder) Fail() { r.failed = true }

// Error implements [testing.TB].
func (r *recorder) Error(...any) { r.failed = true }

// Errorf implements [testing.TB].
func (r *recorder) Errorf(string, ...any) { r.failed = true }

// FailNow implements [testing.TB].
func (r *recorder) FailNow() { r.failed = true; runtime.Goexit() }

// Fatal implements [testing.TB].
func (r *recorder) Fatal(...any) { r.FailNow() }

// Fatalf implements [testing.TB].
func (r *recorder) Fatalf(string, ...any) { r.FailNow() }

// SkipNow implements [testing.TB].
func (*recorder) SkipNow() { runtime.Goexit() }

// Skip implements [testing.TB].
func (*recorder) Skip(...any) { runtime.Goexit() }

// Skipf implements [testing.TB].
func (*recorder) Skipf(string, ...any) { runtime.Goexit() }
