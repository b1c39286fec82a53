package dashboard

import (
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// The load: Rollouts with two versions and one pod per version, and open pages.
const (
	loadRollouts = 1000
	loadViewers  = 50
	loadBytes    = 150 << 20
)

// The heap that all of it takes is bounded, the fake cluster's copy of each object included. What the test logs besides depends on the machine:
// make bench shows it.
func TestC15AThousandRolloutsAndFiftyViewers(t *testing.T) {
	manifests := make([]string, loadRollouts)
	for i := range manifests {
		name := fmt.Sprintf("web%d", i)
		manifests[i] = strings.NewReplacer("name: web,", "name: "+name+",", "uid: web,", "uid: "+name+",", "uid: web}", "uid: "+name+"}", "name: web-", "name: "+name+"-", "uid: web, controller",
			"uid: "+name+", controller", "uid: rs", "uid: "+name+"rs", "uid: pod", "uid: "+name+"pod").Replace(paused)
	}
	d := newDesk(t, nil, manifests...).enter()
	d.wait("all rollouts", func() bool { return len(d.server.hub.all()) == loadRollouts })
	viewers := make([]*streamed, loadViewers)
	for i := range viewers {
		viewers[i] = d.stream("/rollouts/")
		viewers[i].until("f-rows", "Paused")
	}
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if m.HeapAlloc > loadBytes {
		t.Errorf("%d MiB of heap", m.HeapAlloc>>20)
	}
	begin := time.Now()
	if w := d.send("GET", "/rollouts/", "", nil); w.Code != http.StatusOK {
		t.Fatal(w.Code)
	}
	page := time.Since(begin)
	begin = time.Now()
	d.edit(func(u *unstructured.Unstructured) {
		_ = unstructured.SetNestedField(u.Object, "Degraded", "status", "phase")
	})
	for _, v := range viewers {
		v.until("f-filters", "Degraded <b>1</b>")
	}
	t.Logf("%d rollouts, %d open pages: %d MiB of heap with the objects of the fake cluster; the list is made in %s; a change is on all pages after %s",
		loadRollouts, loadViewers, m.HeapAlloc>>20, page.Round(time.Millisecond), time.Since(begin).Round(time.Millisecond))
}
