// Package suggest proposes the known name that a mistyped word most likely means.
package suggest

import "strings"

// Similar returns the name that is most similar to word, or "" when none is similar. A similar
// name differs by at most one edit, and one more for every four letters of word; never by more
// than three.
func Similar(word string, names []string) string { return within(min(3, 1+len(word)/4), word, names) }

// Misspelt returns the name from which word differs by at most one edit, or "".
func Misspelt(word string, names []string) string { return within(1, word, names) }

// within returns the first of the most similar names that differ from word by at most so many edits.
func within(edits int, word string, names []string) string {
	similar, least := "", edits+1
	for _, name := range names {
		if abs(len(name)-len(word)) >= least {
			continue
		}
		if d := distance(strings.ToLower(word), strings.ToLower(name)); d < least {
			similar, least = name, d
		}
	}
	if least >= len(word) { // every letter would change
		return ""
	}
	return similar
}

// DidYouMean returns the end of an error message about an unknown name: the most similar known name,
// or all known names when none is similar.
func DidYouMean(word string, names []string) string {
	if similar := Similar(word, names); similar != "" {
		return `; did you mean "` + similar + `"?`
	}
	if len(names) == 0 {
		return ""
	}
	return "; known names: " + strings.Join(names, ", ")
}

// distance counts insertions, deletions, substitutions and swaps of neighbours
// (optimal string alignment distance).
func distance(a, b string) int {
	newRow := func() []int { return make([]int, len(b)+1) }
	beforeLast, last, current := newRow(), newRow(), newRow()
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		current[0] = i
		for j := 1; j <= len(b); j++ {
			substitution := 1
			if a[i-1] == b[j-1] {
				substitution = 0
			}
			current[j] = min(last[j]+1, current[j-1]+1, last[j-1]+substitution)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				current[j] = min(current[j], beforeLast[j-2]+1)
			}
		}
		beforeLast, last, current = last, current, beforeLast
	}
	return last[len(b)]
}

func abs(n int) int { return max(n, -n) }
