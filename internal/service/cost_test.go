package service

import (
	"fmt"
	"strings"
	"testing"
)

// loops is a condition with n loops within each other over a list of ten numbers, so of about 10^n operations.
func loops(n int) string {
	const list = "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]"
	text := "answer.total > 0"
	for i := range n {
		text = fmt.Sprintf("%s.all(x%d, %s)", list, i, text)
	}
	return text
}

func TestACostlyExpressionEnds(t *testing.T) {
	answer := map[string]any{"total": 3}
	for _, c := range []struct {
		loops  int
		exceed bool
	}{{4, false}, {18, true}} { // 18 would take thousands of years
		text := loops(c.loops)
		check, err := CompileHTTPCheck(text)
		if err != nil {
			t.Fatal(err)
		}
		err = check.eval(map[string]any{"status": 200, "headers": map[string]string{}, "answer": answer})
		if exceeds := err != nil; exceeds != c.exceed {
			t.Errorf("%d loops: %v", c.loops, err)
		}
		if want := text + ": its loops (all, exists, filter, map) exceed 1000000 operations for one response"; c.exceed && !strings.HasPrefix(fmt.Sprint(err), want) {
			t.Errorf("the error is %v, want %s", err, want)
		}
	}
	flow, err := NewHTTPFlow([]Spec{{Name: "first"}, {Name: "second", From: map[string]string{"all": "string(" + strings.ReplaceAll(loops(18), "answer.total", "first.total") + ")"}}})
	if err != nil {
		t.Fatal(err)
	}
	answers := Answers{}
	flow.Add(answers, 0, answer)
	if _, err := flow.Values(1, answers); err == nil || !strings.Contains(err.Error(), "exceed 1000000 operations") {
		t.Errorf("the value of a flow: error %v", err)
	}
}

// A check of a response is a cost of each call.
func BenchmarkCheck(b *testing.B) {
	for name, text := range map[string]string{"plain": "status == 200 && answer.total > 2", "loop": "answer.all(k, answer[k] > 2)"} {
		b.Run(name, func(b *testing.B) {
			check, err := CompileHTTPCheck(text)
			if err != nil {
				b.Fatal(err)
			}
			values := map[string]any{"status": 200, "headers": map[string]string{}, "answer": map[string]any{"total": 3}}
			b.ReportAllocs()
			for b.Loop() {
				if err := check.eval(values); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
