package browser

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"rpclab/experiments"
	"rpclab/internal/report/html"
	"rpclab/internal/result"
	"rpclab/internal/testkit"
	"rpclab/internal/testkit/chrome"
)

// empty returns the visible figures without visible marks, or with a mark at an invalid position.
const empty = `[...document.querySelectorAll("figure[data-chart]")].filter(f => !f.hidden).filter(f => {
	const marks = [...f.querySelectorAll("svg.plot path, svg.plot rect, svg.plot circle, svg.plot line")].filter(m => { const b = m.getBoundingClientRect(); return b.width + b.height > 0 });
	return marks.length < 3 || /NaN|undefined|Infinity/.test(f.innerHTML);
}).map(f => f.dataset.chart)`

// sound asserts what holds for every page.
func sound(t *testing.T, p *chrome.Page) {
	t.Helper()
	if !eval[bool](t, p, `document.documentElement.dataset.drawn === "true"`) {
		t.Error("the page was not drawn: " + eval[string](t, p, `document.getElementById("failed").textContent`))
	}
	if said := p.ConsoleErrors(); len(said) > 0 {
		t.Errorf("the page complains: %q", said)
	}
	if asked := p.Requests(); len(asked) != 1 {
		t.Errorf("the page asks for more than itself: %q", asked)
	}
	if names := eval[[]string](t, p, empty); len(names) > 0 {
		t.Errorf("pictures without anything in them: %q", names)
	}
	if eval[int](t, p, `document.querySelectorAll("figure[data-chart]:not([hidden]) svg.plot").length`) == 0 {
		t.Error("the page has no picture")
	}
	if wide := eval[int](t, p, `document.documentElement.scrollWidth - document.documentElement.clientWidth`); wide > 0 {
		t.Errorf("the page is %d pixels wider than its window", wide)
	}
}

func TestTheReportOfEveryRunIsDrawnOnAPhone(t *testing.T) {
	for name := range recordings {
		t.Run(name, func(t *testing.T) { sound(t, page(t, read(t, name), phone)) })
	}
}

func TestTheReportOfEveryBuiltInExperimentInFullIsSmallAndDrawn(t *testing.T) {
	for _, name := range experiments.Names() {
		t.Run(name, func(t *testing.T) {
			d := full(t, name)
			var out bytes.Buffer
			if err := html.Write(&out, d); err != nil {
				t.Fatal(err)
			}
			t.Logf("%d arms and cells, %d kB", len(d.Arms), out.Len()/1000)
			if out.Len() >= 1_000_000 {
				t.Errorf("the page has %d bytes, which is over 1 MB", out.Len())
			}
			sound(t, opened(t, out.Bytes(), desk))
		})
	}
}

// Failed calls can be many times those that are answered, or all that there are.
func TestFailedCallsOverTimeAreDrawnHoweverManyTheyAre(t *testing.T) {
	for name, c := range map[string]struct {
		answered uint64 // by each of ten backends, of 100 calls in 100 ms
		want     bool   // a text that says how many failed
	}{
		"most": {1, true},
		"all":  {0, false},
	} {
		t.Run(name, func(t *testing.T) {
			d := drawn(t, "endless.yaml", []byte(endless), 1)
			line := d.Arms[0].Trials[0].Timeline
			for i := range line.Errors {
				line.Errors[i] = 100 - 10*c.answered
				for _, calls := range line.Backends {
					calls[i] = c.answered
				}
			}
			p := page(t, d, desk)
			sound(t, p)
			chart := `document.querySelector("[data-chart=timeline] svg.plot")`
			if text := eval[string](t, p, chart+`.textContent`); strings.Contains(text, "up to 900 failed") != c.want {
				t.Errorf("the chart says %q; up to 900 failed: want %v", text, c.want)
			}
			if n := eval[int](t, p, `[...`+chart+`.querySelectorAll("[aria-label=rect] rect")].filter((r) => r.getBoundingClientRect().height > 1).length`); n == 0 {
				t.Error("no failed calls are drawn")
			}
		})
	}
}

func TestASweepShowsTheSelectedCell(t *testing.T) {
	p := page(t, full(t, "channels"), desk)
	shown := `[...document.querySelectorAll("[data-cell]")].filter(e => !e.hidden).map(e => e.dataset.cell).join()`
	if got := eval[string](t, p, shown); got != "0" {
		t.Errorf("at first the cells %s are shown, not the first one", got)
	}
	eval[bool](t, p, `document.getElementById("cell").focus(), true`)
	press(t, p, kb.ArrowDown, 1)
	if got := eval[string](t, p, shown); got != "1" {
		t.Errorf("after an arrow down the cells %s are shown, not the second", got)
	}
	if got, name := eval[string](t, p, `document.querySelector("[data-chart=latency] figcaption").textContent`), eval[string](t, p, `document.getElementById("cell").selectedOptions[0].text`); !strings.Contains(got, name) {
		t.Errorf("the picture says %q, and %q is chosen", got, name)
	}
}

func TestAChartIsZoomedByKeyboardAndByDraggingAndTheAddressKeepsIt(t *testing.T) {
	p := page(t, read(t, "churn"), desk)
	picture := `document.querySelector("[data-chart=timeline] .picture")`
	ticks := picture + `.querySelector("[aria-label='x-axis tick label']").textContent`
	before := eval[string](t, p, ticks)
	eval[bool](t, p, picture+`.focus(), true`)
	press(t, p, "+", 2)
	near := eval[string](t, p, ticks)
	if address := eval[string](t, p, `decodeURIComponent(location.hash)`); near == before || !strings.HasPrefix(address, "#zoom.timeline=") {
		t.Errorf("after + the axis reads %q, before %q, and the address ends with %q", near, before, address)
	}
	sound(t, p)
	eval[bool](t, p, `document.querySelector("nav.contents a[href='#latency']").click(), true`)
	testkit.Await(t, "the section in the address", func() bool {
		address := eval[string](t, p, `decodeURIComponent(location.hash)`)
		return strings.HasPrefix(address, "#zoom.timeline=") && strings.HasSuffix(address, "&section=latency")
	})
	// The page before the reload answers for a while.
	if err := p.Eval(`document.documentElement.dataset.before = "yes", location.reload()`, nil); err != nil {
		t.Fatal(err)
	}
	testkit.Await(t, "the same view and section after a reload", func() bool {
		var again string
		err := p.Eval(ticks+` + (Math.abs(document.getElementById("latency").getBoundingClientRect().top) < 100 ? "" : " elsewhere") +
			(document.documentElement.dataset.before ?? "")`, &again)
		return err == nil && again == near
	})
	eval[bool](t, p, picture+`.focus(), true`)
	press(t, p, "0", 1)
	if all := eval[string](t, p, ticks+` + location.hash`); all != before+"#section=latency" {
		t.Errorf("after 0 the axis and the address read %q, want %q", all, before)
	}
	eval[bool](t, p, `(() => { const svg = `+picture+`.querySelector("svg.plot"), box = svg.getBoundingClientRect();
		const send = (target, type, part) => target.dispatchEvent(new PointerEvent(type, { bubbles: true, button: 0, clientX: box.left + part * box.width, clientY: box.top + 40 }));
		send(svg, "pointerdown", 0.3); send(window, "pointermove", 0.5); send(window, "pointerup", 0.6); return true })()`)
	if dragged := eval[string](t, p, ticks); dragged == before {
		t.Errorf("after a drag the axis still reads %q", dragged)
	}
	if !eval[bool](t, p, `document.querySelector("[data-chart=timeline] .reset").checkVisibility()`) {
		t.Error("no button shows everything again")
	}
}

// times is the first table of the section on latency that the page has without a script.
const times = `document.querySelector("#latency > .table table")`

func TestATableSortsByTheKeyboardAndIsCopiedAsCSV(t *testing.T) {
	p := page(t, read(t, "channels"), desk)
	column := eval[int](t, p, `[...`+times+`.tHead.rows[0].cells].findIndex(c => c.textContent === "p99 ms")`)
	values := func() []float64 {
		return eval[[]float64](t, p, `[...`+times+`.tBodies[0].rows].map(r => Number(r.cells[`+string(rune('0'+column))+`].textContent.replaceAll(",", "")))`)
	}
	eval[bool](t, p, times+`.tHead.rows[0].cells[`+string(rune('0'+column))+`].querySelector("button").focus(), true`)
	press(t, p, kb.Enter, 1)
	if got := values(); !slices.IsSorted(got) || len(got) < 3 {
		t.Errorf("sorted, the column reads %v", got)
	}
	press(t, p, kb.Enter, 1)
	if got := values(); slices.IsSorted(got) {
		t.Errorf("sorted once more, the column still rises: %v", got)
	}
	if got := eval[string](t, p, times+`.querySelector("[aria-sort]").getAttribute("aria-sort")`); got != "descending" {
		t.Errorf("a screen reader hears that it is sorted %q", got)
	}
	eval[bool](t, p, `navigator.clipboard.writeText = async (text) => { window.copied = text }, true`)
	eval[bool](t, p, times+`.closest(".table").querySelector(".copy").focus(), true`)
	press(t, p, kb.Enter, 1)
	lines := strings.Split(eval[string](t, p, `window.copied`), "\r\n")
	if len(lines) < 5 || !strings.HasPrefix(lines[0], "arm,p50 ms,p99 ms,elapsed ms") || strings.Count(lines[1], ",") != strings.Count(lines[0], ",") {
		t.Errorf("the copy reads %q", lines)
	}
}

func TestEveryActionWorksByKeyboard(t *testing.T) {
	p := page(t, read(t, "channels"), desk)
	want := eval[int](t, p, `[...document.querySelectorAll("a, button, summary, select, [tabindex='0']")].filter(e => e.checkVisibility()).length`)
	seen := map[string]bool{}
	for range want + 2 {
		press(t, p, kb.Tab, 1)
		at := eval[string](t, p, `(() => { const e = document.activeElement; e.dataset.met ??= String(document.querySelectorAll("[data-met]").length);
			return e === document.body ? "" : e.dataset.met + (getComputedStyle(e).outlineStyle === "none" ? " unmarked " + e.outerHTML.slice(0, 80) : "") })()`)
		if strings.Contains(at, "unmarked") {
			t.Errorf("one does not see that it has the focus: %s", at)
		}
		seen[at] = true
	}
	delete(seen, "")
	if len(seen) < want {
		t.Errorf("the Tab key meets %d of %d things", len(seen), want)
	}
	eval[bool](t, p, `document.querySelector(".legend button").focus(), true`)
	press(t, p, " ", 1)
	if !eval[bool](t, p, `document.querySelector(".legend button").getAttribute("aria-pressed") === "true" && document.querySelectorAll(".picture.highlighting .arm.highlighted").length > 0`) {
		t.Error("a press on the legend does not make its arm stand out")
	}
	eval[bool](t, p, `document.querySelector("[data-chart=latency] summary").focus(), true`)
	press(t, p, kb.Enter, 1)
	testkit.Await(t, "the numbers of the picture, in a table", func() bool {
		return eval[int](t, p, `document.querySelectorAll("[data-chart=latency] table tbody tr").length`) >= 3
	})
}

// faint are texts whose contrast to what is behind them is below 4.5 (WCAG 2.2, 1.4.3).
const faint = `(() => {
	const rgb = (c) => { const x = document.createElement("canvas").getContext("2d", { willReadFrequently: true }); x.fillStyle = c; x.fillRect(0, 0, 1, 1); return [...x.getImageData(0, 0, 1, 1).data] };
	const light = (c) => { const [r, g, b] = rgb(c).map(v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b };
	const behind = (e) => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; if (c !== "rgba(0, 0, 0, 0)") return c } return "white" };
	const found = new Set(), known = new Map();
	for (const e of document.querySelectorAll("body *")) {
		if (![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()) || !e.checkVisibility() || e.closest("script, noscript")) continue;
		const style = getComputedStyle(e), pair = (e instanceof SVGElement ? style.fill : style.color) + " on " + behind(e);
		if (!known.has(pair)) { const [a, b] = pair.split(" on ").map(light); known.set(pair, (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)) }
		if (known.get(pair) < 4.5) found.add(e.tagName + "." + e.getAttribute("class") + " " + pair + ": " + known.get(pair).toFixed(2));
	}
	return [...found];
})()`

func TestTextContrastInLightAndDark(t *testing.T) {
	papers := map[string]bool{}
	for name, v := range map[string]chrome.Viewport{"light": desk, "dark": night} {
		for _, run := range []string{"channels", "churn"} {
			p := page(t, read(t, run), v)
			if texts := eval[[]string](t, p, faint); len(texts) > 0 {
				t.Errorf("%s, %s: faint texts: %q", name, run, texts)
			}
			papers[eval[string](t, p, `getComputedStyle(document.documentElement).backgroundColor`)] = true
		}
	}
	if len(papers) != 2 {
		t.Errorf("light and dark have the papers %v", slices.Collect(maps.Keys(papers)))
	}
}

func TestPrintedReportIsComplete(t *testing.T) {
	p := page(t, read(t, "channels"), paper)
	sound(t, p)
	if n := eval[int](t, p, `[...document.querySelectorAll(".tools, .choice, .skip")].filter(e => e.checkVisibility()).length`); n > 0 {
		t.Errorf("%d things to press are printed", n)
	}
}

func TestImagesHaveNamesAndTablesHaveHeaders(t *testing.T) {
	p := page(t, read(t, "churn"), desk)
	if n := eval[int](t, p, `[...document.querySelectorAll(".picture svg")].filter(s => s.getAttribute("role") !== "img" || !s.getAttribute("aria-label")).length`); n > 0 {
		t.Errorf("%d pictures have no name", n)
	}
	if n := eval[int](t, p, `[...document.querySelectorAll("table")].filter(t => !t.querySelector("thead th[scope=col]") || !t.querySelector("tbody th[scope=row]")).length`); n > 0 {
		t.Errorf("%d tables have no heads", n)
	}
}

func TestDamagedOrNewerDataIsReportedOnThePage(t *testing.T) {
	var out bytes.Buffer
	if err := html.Write(&out, read(t, "channels")); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string][2]string{
		"damaged": {`{"schema":"rpclab.view/v1",`, `{"schema":`},
		"newer":   {`{"schema":"rpclab.view/v1"`, `{"schema":"rpclab.view/v9"`},
	} {
		t.Run(name, func(t *testing.T) {
			p := opened(t, bytes.Replace(out.Bytes(), []byte(change[0]), []byte(change[1]), 1), desk)
			if said := eval[string](t, p, `(e => e.checkVisibility() ? e.textContent : "")(document.getElementById("failed"))`); !strings.Contains(said, "rpclab report RUN --html") {
				t.Errorf("the page says %q", said)
			}
			if eval[int](t, p, `document.querySelectorAll("#verdicts, #latency table").length`) < 2 {
				t.Error("the texts and tables, which need no data, are gone")
			}
		})
	}
}

func TestARunWithoutMeasurementsHasAPage(t *testing.T) {
	d := read(t, "channels")
	d.Arms, d.Verdicts, d.Events, d.Accounts, d.Partial = []result.Arm{}, nil, nil, nil, true
	p := page(t, d, desk)
	if said := p.ConsoleErrors(); len(said) > 0 || !strings.Contains(eval[string](t, p, `document.querySelector(".answer").textContent`), "Nothing was measured") {
		t.Errorf("the page complains: %q", said)
	}
}

// BenchmarkOpen is of 40 cells in 10 rounds, until all pictures are there.
func BenchmarkOpen(b *testing.B) {
	var out bytes.Buffer
	if err := html.Write(&out, crowd(b)); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(out.Len())/1e6, "MB")
	total := 0.0
	for b.Loop() {
		p := opened(b, out.Bytes(), desk)
		total += eval[float64](b, p, `Number(document.documentElement.dataset.drawn && performance.now() && performance.getEntriesByName("drawn")[0].startTime)`)
		p.Close()
	}
	b.ReportMetric(total/float64(b.N), "ms-until-drawn/op")
}
