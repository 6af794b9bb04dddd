package service

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/ext"
	"pgregory.net/rapid"
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
		"answer.items.all(i, answer.long.size() > 0)":                                                       true,
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

// CEL would compare the two texts at each place, which takes over ten seconds.
func TestTextsAreFoundInLinearTime(t *testing.T) {
	const size = 1 << 18
	values := map[string]any{"status": 200, "headers": map[string]string{}, "answer": map[string]any{
		"long": strings.Repeat("a", size), "late": strings.Repeat("a", size/2) + "b", "early": "b" + strings.Repeat("a", size/2), "n": 3.0,
		"text": strings.Repeat("a", 1<<14), "pattern": strings.Repeat("a", 1<<13) + "b",
	}}
	for text, want := range map[string]string{
		"answer.long.indexOf(answer.late) == -1":         "",
		"answer.long.indexOf(answer.late, 7) == -1":      "",
		"answer.long.lastIndexOf(answer.early) == -1":    "",
		"answer.long.lastIndexOf(answer.early, 9) == -1": "",
		"answer.text.matches(answer.pattern)":            "would take too long: use shorter texts",
		"'ab'.matches(answer.late) == false":             "would take too long: use shorter texts",
		"answer.n.matches(answer.late)":                  "no such overload",
		"answer.long.indexOf(answer.n) == 1":             "no such overload",
		"answer.long.matches('^a+$')":                    "",
		"'ab'.matches('a' + string('b'))":                "",
	} {
		check, err := CompileHTTPCheck(text)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if err := check.eval(values); (err != nil) != (want != "") || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("%s took %v", text, took)
		}
	}
}

// The results are those of CEL itself.
func TestTextsAreFoundAsInCEL(t *testing.T) {
	env, err := cel.NewEnv(ext.Strings(), cel.Variable("text", cel.DynType), cel.Variable("find", cel.DynType), cel.Variable("from", cel.DynType))
	if err != nil {
		t.Fatal(err)
	}
	var ours, theirs []cel.Program
	for _, text := range []string{"text.indexOf(find)", "text.indexOf(find, from)", "text.lastIndexOf(find)", "text.lastIndexOf(find, from)"} {
		compiled, issues := env.Compile(text)
		if issues.Err() != nil {
			t.Fatal(issues.Err())
		}
		our, err := newProgram(env, compiled)
		if err != nil {
			t.Fatal(err)
		}
		their, err := env.Program(compiled)
		if err != nil {
			t.Fatal(err)
		}
		ours, theirs = append(ours, our), append(theirs, their)
	}
	text := rapid.StringOfN(rapid.SampledFrom([]rune("aé水")), 0, 8, -1)
	find := rapid.StringOfN(rapid.SampledFrom([]rune("aé水")), 0, 3, -1)
	rapid.Check(t, func(t *rapid.T) {
		values := map[string]any{"text": text.Draw(t, "text"), "find": find.Draw(t, "find"), "from": rapid.IntRange(-2, 10).Draw(t, "from")}
		for i := range ours {
			got, _, err := ours[i].Eval(values)
			want, _, wanted := theirs[i].Eval(values)
			if (err != nil) != (wanted != nil) || wanted == nil && got.Equal(want) != types.True {
				t.Errorf("function %d of %v is %v, %v; want %v, %v", i, values, got, err, want, wanted)
			}
		}
	})
}
