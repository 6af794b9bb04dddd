// Package suggest finds the name that somebody meant who wrote another one.
package suggest

import "strings"

// Nearest returns the name that someone who wrote word most likely meant, or ""
// when none is near: at most one slip for every four letters, and one more.
func Nearest(word string, names []string) string {
	best, least := "", min(3, 1+len(word)/4)+1
	for _, name := range names {
		if abs(len(name)-len(word)) >= least {
			continue
		}
		if d := distance(strings.ToLower(word), strings.ToLower(name)); d < least {
			best, least = name, d
		}
	}
	if least >= len(word) { // nothing of the word is left
		return ""
	}
	return best
}

// DidYouMean ends a message about an unknown name: with the nearest name if one is
// near, else with all of them.
func DidYouMean(word string, names []string) string {
	if near := Nearest(word, names); near != "" {
		return `; did you mean "` + near + `"?`
	}
	if len(names) == 0 {
		return ""
	}
	return "; there are " + strings.Join(names, ", ")
}

// distance counts insertions, deletions, substitutions and swaps of neighbours
// (optimal string alignment).
func distance(a, b string) int {
	row := func(n int) []int { return make([]int, n+1) }
	before, last, now := row(len(b)), row(len(b)), row(len(b))
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		now[0] = i
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			now[j] = min(last[j]+1, now[j-1]+1, last[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				now[j] = min(now[j], before[j-2]+1)
			}
		}
		before, last, now = last, now, before
	}
	return last[len(b)]
}

func abs(n int) int { return max(n, -n) }
