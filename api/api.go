// Package api holds everything that crosses a process: protobuf files with the Go
// code generated from them, and JSON Schemas.
package api

//go:generate go run ./generate
