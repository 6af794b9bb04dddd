package service

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// A server chooses the response, and who sends a service file to a page the expression. Neither may fill the memory.
func TestTextsOfAnExpressionAreBounded(t *testing.T) {
	const size = 2 << 20
	long := strings.Repeat("a", size)
	items := make([]any, 20_000)
	for i := range items {
		items[i] = "a"
	}
	values := map[string]any{"status": 200, "headers": map[string]string{}, "answer": map[string]any{"long": long, "items": items, "quotes": strings.Repeat(`"`, size)}}
	nested, quoted := "'aaaaaaaaaa'", "answer.quotes"
	for range 10 { // 10^11 bytes
		nested = "(" + nested + ").replace('a', 'aaaaaaaaaa')"
	}
	for range 12 { // 2^33 bytes
		quoted = "strings.quote(" + quoted + ")"
	}
	for text, refused := range map[string]bool{
		"answer.long.replace('a', answer.long) == 'x'":         true,
		"answer.long.replace('', answer.long, 1000000) == 'x'": true,
		"'ab'.replace('b', answer.long, 1).size() == 2097153":  false,
		"answer.long.replace('a', 'bb').size() == 4194304":     false,
		nested + " == 'x'":                                       true,
		"answer.items.join(answer.long) == 'x'":                  true,
		"answer.items.join(', ').size() == 59998":                false,
		quoted + " == 'x'":                                       true,
		"'%s and %d'.format([answer.long, 7]).size() == 2097158": false,
		"'" + strings.Repeat("%s", 100) + "'.format([" + strings.Repeat("answer.long, ", 100) + "]) == 'x'": true,
		"(" + strings.Repeat("answer.long + ", 100) + "'') == 'x'":                                          true,
		"answer.items.map(i, i + answer.long).size() == 0":                                                  true,
		"answer.items.map(i, '%s%s'.format([i, answer.long])).size() == 0":                                  true,
	} {
		check, err := CompileHTTPCheck(text)
		if err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err = check.eval(values)
		runtime.ReadMemStats(&after)
		says := strings.Contains(fmt.Sprint(err), " would make a text of over 8388608 bytes: use shorter texts") || strings.Contains(fmt.Sprint(err), "exceed 1000000 operations")
		if refused && !says || !refused && err != nil {
			t.Errorf("%.60s: error %.200v, want one: %v", text, err, refused)
		}
		if made := (after.TotalAlloc - before.TotalAlloc) >> 20; made > 200 {
			t.Errorf("%.60s: %d MiB were allocated, want at most 200", text, made)
		}
	}
}
