package controller_test

import (
	"fmt"
	"regexp"
	"strconv"
	"testing"

	"github.com/sluice-delivery/sluice/internal/playtest"
)

var lists = regexp.MustCompile(`(?m)^controller_clientset_k8s_request_total\{.*kind="(\w+)".*verb="(List|Watch)"\} (\d+)$`)

// TestC7AnUpdateListsNothing: once its watches stand, the controller asks the API server for no list, however many updates there are. What
// an update costs does not grow with what else there is. The exception is the EndpointSlices of one Service, before it gets its first requests.
func TestC7AnUpdateListsNothing(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	port := ns.FreePort()
	manifest := routed(2, routers["GatewayAPI"], `[{setWeight: 50}, {pause: {duration: 1}}]`, "dynamicStableScale: true")
	createRoute(t, ns, manifest)
	ns.StartController("--metrics-port", fmt.Sprint(port))
	ns.CreateRollout(manifest)
	ns.WaitForRollout("web", "to be Healthy", settledOn("1", 2))
	before, _ := listsOf(ns, port)
	if before == 0 {
		t.Fatal("the controller has counted none of the lists and watches that it began with")
	}
	for image := 2; image <= 4; image++ {
		ns.SetImage("web", fmt.Sprintf("nginx:%d", image))
		ns.WaitForRollout("web", "to be Healthy on the next version", settledOn(strconv.Itoa(image), 2))
	}
	after, endpoints := listsOf(ns, port)
	if after != before {
		t.Errorf("three updates took %d lists and watches, want none", after-before)
	}
	if endpoints < 3 {
		t.Errorf("three updates took %d lists of EndpointSlices, want one at least for each first weight", endpoints)
	}
}

// listsOf is how many lists and watches the controller has asked for: those of EndpointSlices, and all others.
func listsOf(ns *playtest.Namespace, port int) (n, endpoints int) {
	get(ns, port, "/metrics", "the metrics are there", func(_ int, body string) bool {
		n, endpoints = 0, 0
		for _, match := range lists.FindAllStringSubmatch(body, -1) {
			count, err := strconv.Atoi(match[3])
			if err != nil {
				return false
			}
			if match[1] == "endpointslices" {
				endpoints += count
			} else {
				n += count
			}
		}
		return true
	})
	return n, endpoints
}
