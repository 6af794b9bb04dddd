// Package servers embeds the sources of the servers and callers in other languages, so that an
// installed rpclab can build them.
package servers

import "embed"

// Sources has a directory for each language.
//
//go:embed java rust python/requirements.txt all:python/rpclab_servers
var Sources embed.FS

// Script contains build.sh, which builds the programs of a language.
//
//go:embed build.sh
var Script embed.FS
