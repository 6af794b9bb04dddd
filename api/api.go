// Package api contains the formats that processes exchange: protobuf files with their generated Go
// code, and JSON Schemas.
package api

import "embed"

//go:generate go run ./generate

// Protos are the protobuf files that servers in other languages need: those of rpclab/v1 and of the ladder study.
//
//go:embed rpclab/v1/*.proto studies/ladder/*.proto
var Protos embed.FS
