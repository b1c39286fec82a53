package view

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/duration"
)

// node is an item of the tree and its children.
type node struct {
	row
	icon     string
	children []node
}

// tree is the Rollout, its revisions, their ReplicaSets and their pods.
func (r Rollout) tree(f fold) []row {
	root := node{icon: "⟳", row: row{name: r.Name, kind: "Rollout", status: r.Status, age: duration.HumanDuration(r.Age)}}
	var folded []Revision
	for _, rev := range r.Revisions {
		if f >= foldOldRevisions && rev.old() {
			folded = append(folded, rev)
			continue
		}
		root.children = append(root.children, rev.node(f))
	}
	if len(folded) > 0 {
		name := fmt.Sprintf("revision:%d", folded[0].Number)
		if len(folded) > 1 {
			name = fmt.Sprintf("revisions:%d-%d", folded[len(folded)-1].Number, folded[0].Number)
		}
		root.children = append(root.children, node{icon: "#", row: row{name: name, status: Status{Icon: IconIdle, Text: "ScaledDown"}}})
	}
	return root.rows("", "")
}

// old is a revision that has no role and no pods.
func (rev Revision) old() bool {
	for _, rs := range rev.ReplicaSets {
		if len(rs.Tags) > 0 || rs.Status.Icon != IconIdle || len(rs.Pods) > 0 {
			return false
		}
	}
	return !slices.ContainsFunc(rev.Experiments, func(e Experiment) bool { return !e.Over() }) &&
		!slices.ContainsFunc(rev.AnalysisRuns, func(run AnalysisRun) bool { return !run.Over() })
}

func (rev Revision) node(f fold) node {
	n := node{icon: "#", row: row{name: fmt.Sprintf("revision:%d", rev.Number)}}
	for _, e := range rev.Experiments {
		n.children = append(n.children, e.node(f))
	}
	for _, rs := range rev.ReplicaSets {
		n.children = append(n.children, rs.node(f))
	}
	for _, run := range rev.AnalysisRuns {
		n.children = append(n.children, run.node(f))
	}
	return n
}

func (rs ReplicaSet) node(f fold) node {
	n := node{icon: "⧉", row: row{
		name: rs.Name, kind: "ReplicaSet", status: rs.Status, age: duration.HumanDuration(rs.Age), info: rs.info(),
	}}
	var folded []Pod
	for _, p := range rs.Pods {
		if f >= foldPods && p.ready() {
			folded = append(folded, p)
			continue
		}
		n.children = append(n.children, p.node())
	}
	switch len(folded) {
	case 0:
	case 1:
		n.children = append(n.children, folded[0].node())
	default:
		n.children = append(n.children, node{icon: "□", row: row{
			name: fmt.Sprintf("%d pods", len(folded)), kind: "Pod", status: folded[0].Status,
			age: duration.HumanDuration(folded[0].Age), info: "ready",
		}})
	}
	return n
}

func (rs ReplicaSet) info() string {
	var words []string
	for _, t := range rs.Tags {
		words = append(words, string(t))
	}
	if d := rs.Delay; d != nil && *d > 0 {
		words = append(words, "delay:"+human(*d))
	} else if d != nil {
		words = append(words, "delay:passed")
	}
	return withMessage(words, rs.Status.Message)
}

func (p Pod) node() node {
	words := []string{fmt.Sprintf("ready:%d/%d", p.Ready, p.Containers)}
	if p.Restarts > 0 {
		words = append(words, fmt.Sprintf("restarts:%d", p.Restarts))
	}
	return node{icon: "□", row: row{
		name: p.Name, kind: "Pod", status: p.Status, age: duration.HumanDuration(p.Age), info: withMessage(words, p.Status.Message),
	}}
}

func withMessage(words []string, message string) string {
	info := strings.Join(words, ",")
	if message == "" {
		return info
	}
	return strings.TrimSpace(info + " " + strings.Join(strings.Fields(message), " "))
}

// rows draws the branches: own connects the node itself, below connects its children.
func (n node) rows(own, below string) []row {
	n.branch = own + n.icon + " "
	rows := []row{n.row}
	for i, c := range n.children {
		if i == len(n.children)-1 {
			rows = append(rows, c.rows(below+"└──", below+"   ")...)
			continue
		}
		rows = append(rows, c.rows(below+"├──", below+"│  ")...)
	}
	return rows
}
