// Package api contains the formats that processes exchange: protobuf files with their generated Go
// code, and JSON Schemas.
package api

import "embed"

//go:generate go run ./generate

// Protos are the protobuf files, below rpclab/v1.
//
//go:embed rpclab/v1/*.proto
var Protos embed.FS
