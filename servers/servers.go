// Package servers holds the programs under test in other languages, as their sources: so
// that rpclab builds them wherever it was installed.
package servers

import "embed"

// Sources are a directory for each language.
//
//go:embed java rust python/requirements.txt all:python/rpclab_servers
var Sources embed.FS

// Script is build.sh, which builds a language.
//
//go:embed build.sh
var Script embed.FS
