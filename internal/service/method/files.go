package method

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"rpclab/internal/service/request"
)

// files is a source of parsed files.
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

// FromProto compiles .proto files. It looks for each file and its imports in dirs, or by default in
// the directory of the file.
func FromProto(ctx context.Context, names []string, dirs []string) (Source, error) {
	all, seen := new(protoregistry.Files), map[string]string{}
	for _, name := range names {
		if other := seen[filepath.Base(name)]; len(dirs) == 0 && other != "" && other != name {
			return nil, request.Invalidf("%s and %s have the same name: set import_paths to the directory from which both are imported", other, name)
		}
		seen[filepath.Base(name)] = name
		if err := compile(ctx, name, dirs, all); err != nil {
			return nil, err
		}
	}
	return files{all}, nil
}

// compile adds a file and its imports to all.
func compile(ctx context.Context, file string, dirs []string, all *protoregistry.Files) error {
	name, dirs := place(file, dirs)
	compiler := protocompile.Compiler{
		Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{ImportPaths: dirs}),
	}
	compiled, err := compiler.Compile(ctx, name)
	if at := new(fs.PathError); errors.As(err, &at) && !strings.HasSuffix(at.Path, name) {
		return request.Invalidf("compile %s: %w; set --import-path to the directory of its imports", file, err)
	}
	if err != nil {
		return request.Invalidf("compile %s: %w", file, err)
	}
	for _, c := range compiled {
		if err := register(all, c); err != nil {
			return request.Invalidf("use %s: %w", file, err)
		}
	}
	return nil
}

// place returns the name of a file below one of the import directories, and these. A file in none of them adds its
// own directory. A file that does not exist is looked for in each directory by the end of its path: it was named
// relative to an import directory, as for protoc.
func place(file string, dirs []string) (name string, all []string) {
	for _, dir := range dirs {
		if relative, err := filepath.Rel(dir, file); err == nil && filepath.IsLocal(relative) {
			return filepath.ToSlash(relative), dirs
		}
	}
	if _, err := os.Stat(file); err == nil || len(dirs) == 0 {
		return filepath.Base(file), append(slices.Clone(dirs), filepath.Dir(file))
	}
	rest := filepath.ToSlash(filepath.Clean(file))
	for more := true; more; _, rest, more = strings.Cut(rest, "/") {
		for _, dir := range dirs {
			if _, err := os.Stat(filepath.Join(dir, rest)); err == nil && rest != "" {
				return rest, dirs
			}
		}
	}
	return file, dirs
}

// register registers a file after its imports.
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

// Copy returns a source of the files that define a method, from a source that may be a server.
func Copy(ctx context.Context, of Source, call string) (Source, error) {
	found, err := Find(ctx, of, call)
	if err != nil {
		return nil, err
	}
	all := new(protoregistry.Files)
	for _, file := range []protoreflect.FileDescriptor{found.ParentFile(), found.Input().ParentFile(), found.Output().ParentFile()} {
		if err := register(all, file); err != nil {
			return nil, err
		}
	}
	return files{all}, nil
}

// Descriptors returns the files of a source that was made of files, as a FileDescriptorSet.
func Descriptors(of Source) ([]byte, error) {
	all, ok := of.(files)
	if !ok {
		return nil, errors.New("the methods are not defined in files")
	}
	set := new(descriptorpb.FileDescriptorSet)
	all.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		set.File = append(set.File, protodesc.ToFileDescriptorProto(file))
		return true
	})
	return proto.MarshalOptions{Deterministic: true}.Marshal(set)
}

// FromDescriptors returns the source of a FileDescriptorSet.
func FromDescriptors(encoded []byte) (Source, error) {
	set := new(descriptorpb.FileDescriptorSet)
	if err := proto.Unmarshal(encoded, set); err != nil {
		return nil, err
	}
	all, err := protodesc.NewFiles(set)
	return files{all}, err
}

// FromSet reads a descriptor set, as `protoc --include_imports -o` writes it.
func FromSet(path string) (Source, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, request.Invalidf("read the descriptor set: %w", err)
	}
	set := new(descriptorpb.FileDescriptorSet)
	if err := proto.Unmarshal(data, set); err != nil || len(set.File) == 0 {
		return nil, request.Invalidf("%s is not a descriptor set; create one with: protoc --include_imports -o %s FILE.proto", path, path)
	}
	all, err := protodesc.NewFiles(set)
	if err != nil {
		return nil, request.Invalidf("%s is incomplete: %w; create it with protoc --include_imports", path, err)
	}
	return files{all}, nil
}
