package method_test

import (
	"os"
	"path/filepath"
	"testing"

	"rpclab/internal/service/method"
)

// TestProtoFilesAreFoundFromAnyDirectory: a service file names its files and their import directories relative to
// itself, or the files relative to an import directory, as protoc does.
func TestProtoFilesAreFoundFromAnyDirectory(t *testing.T) {
	dir := t.TempDir()
	for file, text := range map[string]string{
		"orders.proto":             `syntax = "proto3"; package a; import "shop/types.proto"; service Orders { rpc Get (shop.Item) returns (shop.Item); }`,
		"protos/shop/orders.proto": `syntax = "proto3"; package b; import "shop/types.proto"; service Orders { rpc Get (shop.Item) returns (shop.Item); }`,
		"protos/shop/types.proto":  `syntax = "proto3"; package shop; message Item { string id = 1; }`,
	} {
		path := filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(filepath.Dir(dir))
	for file, service := range map[string]string{"orders.proto": "a.Orders", "protos/shop/orders.proto": "b.Orders", "shop/orders.proto": "b.Orders"} {
		for _, base := range []string{dir, filepath.Base(dir)} {
			source, err := method.FromProto(t.Context(), []string{filepath.Join(base, file)}, []string{filepath.Join(base, "protos")})
			if err != nil {
				t.Errorf("%s in %s: %v", file, base, err)
				continue
			}
			if found, err := source.Service(t.Context(), service); found == nil {
				t.Errorf("%s in %s has no service %s: %v", file, base, service, err)
			}
		}
	}
}
