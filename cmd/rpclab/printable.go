package main

import (
	"strings"
	"unicode"
)

// printable replaces the control characters of a message, which may be those of a server, except for line breaks and tabs.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
			return ' '
		}
		return r
	}, text)
}
