package gatewayapi

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/sluice-delivery/sluice/internal/traffic"
)

// Each row is a match of a rule, a condition, and what fits both: nothing at all where it is empty.
func TestMatchesOfHTTP(t *testing.T) {
	for name, c := range map[string]struct{ match, condition, want, problem string }{
		"everything, by a header": {
			match: "{}", condition: "headers: [{header: A, value: {kind: exact, value: a}}]",
			want: "{path: {type: PathPrefix, value: /}, headers: [{name: A, type: Exact, value: a}]}",
		},
		"a prefix of a header is quoted": {
			match: "{}", condition: "headers: [{header: A, value: {kind: prefix, value: 'a.b*'}}]",
			want: `{path: {type: PathPrefix, value: /}, headers: [{name: A, type: RegularExpression, value: '^a\.b\*.*'}]}`,
		},
		"what the rule asks for stays": {
			match:     "{path: {type: Exact, value: /a}, method: PUT, queryParams: [{name: q, value: z}], headers: [{name: B, value: b}]}",
			condition: "headers: [{header: A, value: {kind: regex, value: a+}}]",
			want:      "{path: {type: Exact, value: /a}, method: PUT, queryParams: [{name: q, value: z}], headers: [{name: B, value: b}, {name: A, type: RegularExpression, value: a+}]}",
		},
		"the same header once": {
			match: "{headers: [{name: A, value: a}]}", condition: "headers: [{header: a, value: {kind: exact, value: a}}]",
			want: "{path: {type: PathPrefix, value: /}, headers: [{name: A, value: a}]}",
		},
		"the same header with another value": {
			match: "{headers: [{name: A, value: a}]}", condition: "headers: [{header: a, value: {kind: exact, value: b}}]",
		},
		"a value that has the prefix": {
			match: "{headers: [{name: A, value: abc}]}", condition: "headers: [{header: A, value: {kind: prefix, value: ab}}]",
			want: "{path: {type: PathPrefix, value: /}, headers: [{name: A, value: abc}]}",
		},
		"a value that does not": {
			match: "{headers: [{name: A, value: abc}]}", condition: "headers: [{header: A, value: {kind: prefix, value: b}}]",
		},
		"a value that an expression may fit": {
			match: "{headers: [{name: A, value: abc}]}", condition: "headers: [{header: A, value: {kind: regex, value: b}}]",
			problem: `a rule asks for the header A already, as Exact "abc", which cannot be combined with regex "b": use another header`,
		},
		"an expression that is the same text": {
			match: "{headers: [{name: A, type: RegularExpression, value: a.c}]}", condition: "headers: [{header: A, value: {kind: exact, value: a.c}}]",
			problem: `a rule asks for the header A already, as RegularExpression "a.c", which cannot be combined with exact "a.c": use another header`,
		},
		"a path below": {
			match: "{path: {value: /a}}", condition: "path: {kind: prefix, value: /a/b}",
			want: "{path: {type: PathPrefix, value: /a/b}}",
		},
		"a path above": {
			match: "{path: {value: /a/b}}", condition: "path: {kind: prefix, value: /a/}",
			want: "{path: {type: PathPrefix, value: /a/b}}",
		},
		"a path beside, though it begins with the same letters": {
			match: "{path: {value: /a}}", condition: "path: {kind: prefix, value: /ab}",
		},
		"one path below a prefix": {
			match: "{path: {value: /a}}", condition: "path: {kind: exact, value: /a/b}",
			want: "{path: {type: Exact, value: /a/b}}",
		},
		"one path elsewhere": {
			match: "{path: {type: Exact, value: /a}}", condition: "path: {kind: exact, value: /b}",
		},
		"one path of a rule, not below": {
			match: "{path: {type: Exact, value: /a}}", condition: "path: {kind: prefix, value: /a/b}",
		},
		"an expression for everything": {
			match: "{}", condition: "path: {kind: regex, value: '/[ab]'}",
			want: "{path: {type: RegularExpression, value: '/[ab]'}}",
		},
		"an expression for a part": {
			match: "{path: {value: /a}}", condition: "path: {kind: regex, value: '/[ab]'}",
			problem: `a rule for the path PathPrefix "/a" cannot be combined with the path RegularExpression "/[ab]": give one of them as Exact or PathPrefix /`,
		},
		"a method": {
			match: "{}", condition: "method: {kind: exact, value: GET}",
			want: "{path: {type: PathPrefix, value: /}, method: GET}",
		},
		"the same method": {
			match: "{method: GET}", condition: "method: {kind: exact, value: GET}",
			want: "{path: {type: PathPrefix, value: /}, method: GET}",
		},
		"another method": {
			match: "{method: PUT}", condition: "method: {kind: exact, value: GET}",
		},
		"a method that there is not": {
			match: "{}", condition: "method: {kind: exact, value: get}",
			problem: `method exact "get" is none that the Gateway API can match: write exact and one of GET, HEAD, POST, PUT, DELETE, CONNECT, OPTIONS, TRACE, PATCH`,
		},
	} {
		t.Run(name, func(t *testing.T) { tryMatch(t, httpMatch, c.match, c.condition, c.want, c.problem) })
	}
}

func TestMatchesOfGRPC(t *testing.T) {
	for name, c := range map[string]struct{ match, condition, want, problem string }{
		"everything, by a header": {
			match: "{}", condition: "headers: [{header: a, value: {kind: exact, value: a}}]",
			want: "{headers: [{name: a, type: Exact, value: a}]}",
		},
		"one call of everything": {
			match: "{}", condition: "path: {kind: exact, value: /s.S/M}",
			want: "{method: {type: Exact, service: s.S, method: M}}",
		},
		"one call of a service": {
			match: "{method: {service: s.S}}", condition: "path: {kind: exact, value: /s.S/M}",
			want: "{method: {type: Exact, service: s.S, method: M}}",
		},
		"a service of one call": {
			match: "{method: {service: s.S, method: M}}", condition: "path: {kind: prefix, value: /s.S/}",
			want: "{method: {type: Exact, service: s.S, method: M}}",
		},
		"all calls": {
			match: "{method: {service: s.S}}", condition: "{path: {kind: prefix, value: /}, method: {kind: exact, value: POST}}",
			want: "{method: {service: s.S}}",
		},
		"another service": {
			match: "{method: {service: s.S}}", condition: "path: {kind: prefix, value: /s.T}",
		},
		"a method that gRPC does not use": {
			match: "{}", condition: "method: {kind: exact, value: GET}",
		},
		"services by an expression": {
			match: "{method: {type: RegularExpression, service: 's.*'}}", condition: "path: {kind: prefix, value: /s.T}",
			problem: "a rule asks for a method of type RegularExpression, which cannot be combined with a path: use Exact",
		},
		"part of a method": {
			match: "{}", condition: "path: {kind: prefix, value: /s.S/M}",
			problem: `path prefix "/s.S/M" is none that a GRPCRoute can match: write prefix / or /service, or exact /service/method`,
		},
	} {
		t.Run(name, func(t *testing.T) { tryMatch(t, grpcMatch, c.match, c.condition, c.want, c.problem) })
	}
}

func tryMatch(t *testing.T, both func(map[string]any, traffic.RequestMatch) (map[string]any, string), match, condition, want, problem string) {
	t.Helper()
	var (
		of       map[string]any
		when     traffic.RequestMatch
		expected map[string]any
	)
	for into, text := range map[any]string{&of: match, &when: condition, &expected: want} {
		if err := yaml.Unmarshal([]byte(text), into); err != nil {
			t.Fatal(err)
		}
	}
	got, told := both(of, when)
	if diff := cmp.Diff(expected, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if told != problem {
		t.Errorf("problem is %q, want %q", told, problem)
	}
}
