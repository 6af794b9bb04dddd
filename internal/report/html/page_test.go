package html

import (
	"bytes"
	"encoding/json"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"rpclab/internal/result"
	"rpclab/internal/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func written(t *testing.T, d result.Document) string {
	t.Helper()
	var page bytes.Buffer
	if err := Write(&page, d); err != nil {
		t.Fatal(err)
	}
	return page.String()
}

// hostile has the end of every context of the page.
const hostile = "</script><script>alert(1)</script><!-- \" ' & \u2028 ${x} `</code>`"

func TestTextOfADocumentIsEscaped(t *testing.T) {
	d := result.Document{Schema: result.Schema, ID: hostile, Experiment: hostile, Question: hostile, Baseline: hostile, Warnings: []string{hostile}}
	d.Arms = []result.Arm{{Name: hostile, Route: hostile, Cell: result.Cell{"x": hostile}, Describe: hostile,
		Measures: result.Measures{Calls: 3, Backends: map[string]uint64{hostile: 1, "b": 2}, Errors: map[string]uint64{hostile: 1}, Samples: map[string]string{hostile: hostile}}}}
	page := written(t, d)
	if n := strings.Count(page, "alert(1)"); n == 0 || strings.Contains(page, "<script>alert") {
		t.Errorf("a text of the document is a script of the page, or is missing (it occurs %d times)", n)
	}
	if strings.Count(page, "</script>") != 2 {
		t.Errorf("the page has %d scripts, want 2: its data and its own", strings.Count(page, "</script>"))
	}
	data := regexp.MustCompile(`(?s)id="view">(.*?)</script>`).FindStringSubmatch(page)
	var view View
	if err := json.Unmarshal([]byte(data[1]), &view); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(data[1], "\u2028") || len(view.Arms) != 1 || !strings.HasPrefix(view.Arms[0], "</script>") {
		t.Errorf("the arms of the page's data are %q, want the name of the document's arm", view.Arms)
	}
}

func TestThePageAllowsItsOwnScriptAndNothingElse(t *testing.T) {
	page := written(t, result.Document{Schema: result.Schema})
	allowed := regexp.MustCompile(`Content-Security-Policy" content="([^"]*)"`).FindStringSubmatch(page)
	if allowed == nil || strings.Contains(allowed[1], "unsafe") || !strings.HasPrefix(allowed[1], "default-src &#39;none&#39;") {
		t.Fatalf("the Content-Security-Policy is %q, want default-src 'none' and nothing unsafe", allowed)
	}
	for _, of := range []string{"script", "style"} {
		text := regexp.MustCompile(`(?s)<` + of + `>(.*?)</` + of + `>`).FindStringSubmatch(page)
		if text == nil || !strings.Contains(strings.ReplaceAll(allowed[1], "&#43;", "+"), digest(text[1])) {
			t.Errorf("the Content-Security-Policy does not have the digest of the page's %s", of)
		}
	}
	if strings.Contains(page, " style=\"") || regexp.MustCompile(` on[a-z]+="`).MatchString(page) {
		t.Error("the page has inline styles or event handlers, which its Content-Security-Policy forbids")
	}
}

func TestTheTemplateCallsNoMethods(t *testing.T) {
	if methods := testkit.TemplateMethods(layout, reflect.TypeFor[content]()); methods != nil {
		t.Errorf("page.html calls %v, which a released program cannot", methods)
	}
}
