// Package k6 contains the load of a published study for k6, in the words of rpclab.
package k6

import _ "embed"

// Ladder is the load of the ladder study.
//
//go:embed ladder.js
var Ladder string
