// Package api holds everything that crosses a process: protobuf files with the Go
// code generated from them, and JSON Schemas.
package api

import "embed"

//go:generate go run ./generate

// Protos are the protobuf files, below rpclab/v1.
//
//go:embed rpclab/v1/*.proto
var Protos embed.FS
