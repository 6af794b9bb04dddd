package method

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"rpclab/internal/load/request"
)

// files is a source that has everything at hand.
type files struct{ *protoregistry.Files }

func (f files) Services(context.Context) (names []string, err error) {
	f.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		for i := range file.Services().Len() {
			names = append(names, string(file.Services().Get(i).FullName()))
		}
		return true
	})
	return names, nil
}

func (f files) Service(_ context.Context, name string) (protoreflect.ServiceDescriptor, error) {
	found, err := f.FindDescriptorByName(protoreflect.FullName(name))
	if errors.Is(err, protoregistry.NotFound) {
		return nil, nil
	}
	service, _ := found.(protoreflect.ServiceDescriptor)
	return service, err
}

// FromProto compiles a .proto file. Its imports, and the file itself, are looked for
// in the directories; without any, in the directory of the file.
func FromProto(ctx context.Context, file string, dirs []string) (Source, error) {
	if len(dirs) == 0 {
		dirs, file = []string{filepath.Dir(file)}, filepath.Base(file)
	}
	compiler := protocompile.Compiler{
		Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{ImportPaths: dirs}),
	}
	name := inside(file, dirs)
	compiled, err := compiler.Compile(ctx, name)
	if at := new(fs.PathError); errors.As(err, &at) && !strings.HasSuffix(at.Path, name) {
		return nil, request.Wrongf("cannot compile %s: %w; say where its imports are by --import-path", file, err)
	}
	if err != nil {
		return nil, request.Wrongf("cannot compile %s: %w", file, err)
	}
	all := new(protoregistry.Files)
	for _, c := range compiled {
		if err := register(all, c); err != nil {
			return nil, request.Wrongf("cannot use %s: %w", file, err)
		}
	}
	return files{all}, nil
}

// inside is the file relative to the directory that it is in, as imports name it.
func inside(file string, dirs []string) string {
	for _, dir := range dirs {
		if relative, err := filepath.Rel(dir, file); err == nil && filepath.IsLocal(relative) {
			return filepath.ToSlash(relative)
		}
	}
	return file
}

// register adds a file after those that it imports.
func register(all *protoregistry.Files, file protoreflect.FileDescriptor) error {
	if _, err := all.FindFileByPath(file.Path()); err == nil {
		return nil
	}
	for i := range file.Imports().Len() {
		if err := register(all, file.Imports().Get(i).FileDescriptor); err != nil {
			return err
		}
	}
	return all.RegisterFile(file)
}

// FromSet reads a descriptor set, as `protoc --include_imports -o` writes it.
func FromSet(path string) (Source, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, request.Wrongf("cannot read the descriptor set: %w", err)
	}
	set := new(descriptorpb.FileDescriptorSet)
	if err := proto.Unmarshal(data, set); err != nil || len(set.File) == 0 {
		return nil, request.Wrongf("%s is no descriptor set; make one with: protoc --include_imports -o %s FILE.proto", path, path)
	}
	all, err := protodesc.NewFiles(set)
	if err != nil {
		return nil, request.Wrongf("%s is not complete: %w; make it with protoc --include_imports", path, err)
	}
	return files{all}, nil
}
