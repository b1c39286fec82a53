package browser_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	cdpruntime "github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/sluice-delivery/sluice/internal/dashboard/browser"
)

// pictures is a folder to write screenshots into: make pictures.
var pictures = flag.String("pictures", "", "folder to write a picture of each page into")

// all keeps pictures of the widest screen, too, to be looked at.
var all = flag.Bool("all", false, "also write pictures of the width that docs/pictures does not have")

// widths of a phone, of a laptop, of a large screen, and of a wall, with the height of each. Of the last no pictures are kept.
var widths = map[int64]int64{390: 844, 1280: 900, 2560: 1440, wall: 2160}

const wall = 3840

// sight is a page to look at, in the scene.
type sight struct {
	path, ready, text string
	// then is done before the picture is taken.
	then chromedp.Action
}

func sights() map[string]sight {
	press := func(key string) chromedp.Action {
		return chromedp.Tasks{browser.Press(key), chromedp.WaitVisible("dialog[open]", chromedp.ByQuery)}
	}
	return map[string]sight{
		"list":     {"", "#f-rows", "storefront", nil},
		"paused":   {"rollout/shop/storefront", "#f-measurements", "latency-p95", nil},
		"degraded": {"rollout/shop/payments", "#f-now", "error-rate", nil},
		"preview":  {"rollout/shop/checkout", "#f-now", "promote", nil},
		"healthy":  {"rollout/shop/search", "#f-now", "not waiting for anything", nil},
		"stuck":    {"rollout/shop/mail", "#f-revisions", "ImagePull", nil},
		"promote":  {"rollout/shop/storefront", "#f-now", "promote", press("p")},
		"image":    {"rollout/shop/storefront/image?image-storefront=registry.example.com%2Fshop%2Fstorefront:v1.9.0", "#question", "How the update would go on", chromedp.Click("details.later summary", chromedp.ByQuery)},
		"tile":     {"tile/shop/storefront", "main", "Paused", nil},
		"keys":     {"", "#f-rows", "storefront", press("?")},
		"compare":  {"rollout/shop/storefront/diff?from=1", "pre.diff", "v1.8.0", nil},
		"run":      {"rollout/shop/storefront", "#f-measurements", "All measurements", chromedp.Tasks{chromedp.Click("#f-measurements .more a", chromedp.ByQuery), shows("#f-run", "success-rate")}},
	}
}

// Each page on a phone, a laptop, a large screen and a wall, light and dark: nothing is wider than the screen, pages fill most of it with lines that
// can be read, and axe-core finds nothing against WCAG 2.2 AA. With -pictures each is kept.
func TestEveryPage(t *testing.T) {
	ns := setScene(t)
	s := serve(t, ns, ns.Name)
	axe := axeScript(t)
	for _, width := range slices.Sorted(maps.Keys(widths)) {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			ctx := chromium(t)
			do(ctx, t, "enter", chromedp.Navigate(s.link("")), shows("#link", "live"))
			for _, theme := range []string{"light", "dark"} {
				do(ctx, t, "resize", chromedp.EmulateViewport(width, widths[width], func(p *emulation.SetDeviceMetricsOverrideParams, _ *emulation.SetTouchEmulationEnabledParams) {
					p.Mobile = width < 500
				}), emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{
					{Name: "prefers-color-scheme", Value: theme}, {Name: "prefers-reduced-motion", Value: "reduce"},
				}))
				for name, at := range sights() {
					inspect(ctx, t, s, axe, fmt.Sprintf("%s-%d-%s", name, width, theme), width, at)
				}
			}
		})
	}
}

// inspect opens a page, keeps a picture of it, and looks for what is wrong there.
func inspect(ctx context.Context, t *testing.T, s *served, axe, what string, width int64, at sight) {
	t.Helper()
	do(ctx, t, what, chromedp.Navigate("http://"+s.addr+"/rollouts/"+at.path), shows(at.ready, at.text))
	if at.then != nil {
		do(ctx, t, what, at.then)
	}
	if *pictures != "" && (width < wall || *all) {
		keep(ctx, t, what)
	}
	var wide, empty, longest int64
	var found []violation
	do(ctx, t, what, chromedp.Evaluate(`document.documentElement.scrollWidth`, &wide), chromedp.Evaluate(emptySides, &empty), chromedp.Evaluate(longestLine, &longest),
		chromedp.Evaluate(axe, nil), chromedp.Evaluate(ask, &found, awaited))
	if wide > width {
		t.Errorf("%s is %d pixels wide", what, wide)
	}
	if empty > width/5 {
		t.Errorf("%s leaves %d of %d pixels empty at its sides", what, empty, width)
	}
	if longest > mostLetters {
		t.Errorf("%s has a line of %d letters", what, longest)
	}
	for _, v := range found {
		t.Errorf("%s: %s: %s", what, v.ID, v.Where)
	}
}

// emptySides is how much of the width the page does not use, and longestLine how many letters fit into the longest line of running text.
const (
	emptySides  = `(m => Math.round(innerWidth - m.clientWidth))(document.querySelector('main'))`
	longestLine = `Math.round(Math.max(0, ...[...document.querySelectorAll('main p, main .stay li')].filter(e => e.getClientRects().length).map(e => {
		const range = document.createRange(); range.selectNodeContents(e)
		return Math.max(0, ...[...range.getClientRects()].map(r => r.width)) / (parseFloat(getComputedStyle(e).fontSize) * .5)
	})))`
	mostLetters = 150
)

// violation is what axe-core finds.
type violation struct{ ID, Where string }

const ask = `axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']}).then(r =>
	r.violations.map(v => ({ID: v.id, Where: v.nodes.slice(0, 3).map(n => n.html.slice(0, 160) + ' ' + n.failureSummary).join(' | ')})))`

func awaited(p *cdpruntime.EvaluateParams) *cdpruntime.EvaluateParams {
	return p.WithAwaitPromise(true)
}

// axeScript is axe-core as it is in the npm package of this version: testdata/README.md.
func axeScript(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("testdata/axe.min.js")
	if err != nil {
		t.Fatal(err)
	}
	const want = "e9e5863c33a874f09bc01acd9234b7e3c871479f5eef8802fa582544465e6d01"
	if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != want {
		t.Fatalf("testdata/axe.min.js is another file than axe-core 4.11.0: %x", sum)
	}
	return string(text) + "\n;0" // its value would be sent back
}

// keep writes what the browser shows, with few colors and therefore small.
func keep(ctx context.Context, t *testing.T, name string) {
	t.Helper()
	var shot []byte
	do(ctx, t, "take the picture", chromedp.CaptureScreenshot(&shot))
	full, err := png.Decode(bytes.NewReader(shot))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, reduced(full)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(*pictures, name+".png"), out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// near colors are one, for the eye.
func near(a, b color.RGBA) bool {
	far := func(x, y uint8) bool { return max(x, y)-min(x, y) > 7 }
	return !far(a.R, b.R) && !far(a.G, b.G) && !far(a.B, b.B)
}

// reduced is a picture with its 96 most frequent colors; the others are the edges of letters.
func reduced(full image.Image) image.Image {
	count := map[color.RGBA]int{}
	b := full.Bounds()
	at := func(x, y int) color.RGBA { return color.RGBAModel.Convert(full.At(x, y)).(color.RGBA) }
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			count[at(x, y)]++
		}
	}
	common := slices.SortedFunc(maps.Keys(count), func(p, q color.RGBA) int {
		return cmp.Or(cmp.Compare(count[q], count[p]), bytes.Compare([]byte{p.R, p.G, p.B}, []byte{q.R, q.G, q.B}))
	})
	var palette color.Palette
	for _, c := range common {
		if len(palette) < 96 && !slices.ContainsFunc(palette, func(p color.Color) bool { return near(p.(color.RGBA), c) }) {
			palette = append(palette, c)
		}
	}
	nearest := map[color.RGBA]uint8{}
	out := image.NewPaletted(b, palette)
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			c := at(x, y)
			i, ok := nearest[c]
			if !ok {
				i = uint8(palette.Index(c))
				nearest[c] = i
			}
			out.SetColorIndex(x, y, i)
		}
	}
	return out
}
