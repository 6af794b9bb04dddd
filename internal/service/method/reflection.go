package method

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

// Versions of the reflection service. They have the same messages.
const (
	reflectionV1      = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"
	reflectionV1Alpha = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
)

// fileHint says what to do when the server has no reflection service.
const fileHint = "describe the methods with --proto FILE or --protoset FILE"

// ErrNoAnswer is matched by the error of a server that cannot be reached, or does not answer in time.
var ErrNoAnswer = errors.New("no answer")

// reflection is a source that asks the server.
type reflection struct {
	channel grpc.ClientConnInterface
	headers metadata.MD
}

// FromServer uses server reflection, v1 and then v1alpha, with the metadata of the load.
func FromServer(channel grpc.ClientConnInterface, headers metadata.MD) Source {
	return reflection{channel, headers}
}

func (r reflection) Services(ctx context.Context) (names []string, err error) {
	err = r.ask(ctx, func(t *reflectionStream) error {
		answer, err := t.ask(&reflectionv1.ServerReflectionRequest{
			MessageRequest: &reflectionv1.ServerReflectionRequest_ListServices{},
		})
		for _, s := range answer.GetListServicesResponse().GetService() {
			names = append(names, s.Name)
		}
		return err
	})
	return names, err
}

func (r reflection) Service(ctx context.Context, name string) (found protoreflect.ServiceDescriptor, err error) {
	err = r.ask(ctx, func(stream *reflectionStream) error {
		answer, err := stream.ask(&reflectionv1.ServerReflectionRequest{
			MessageRequest: &reflectionv1.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: name},
		})
		if err != nil || answer.GetErrorResponse().GetErrorCode() == int32(codes.NotFound) {
			return err
		}
		set, err := stream.allFiles(answer)
		if err != nil {
			return err
		}
		all, err := protodesc.NewFiles(set)
		if err != nil {
			return fmt.Errorf("the server's descriptors are incomplete: %w; use --proto or --protoset", err)
		}
		found, err = files{all}.Service(ctx, name)
		return err
	})
	return found, err
}

// ask opens a stream with the first supported version of the service.
func (r reflection) ask(ctx context.Context, do func(*reflectionStream) error) error {
	ctx, cancel := context.WithCancel(metadata.NewOutgoingContext(ctx, r.headers))
	defer cancel() // ends the stream
	for _, version := range []string{reflectionV1, reflectionV1Alpha} {
		stream, err := r.channel.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, version)
		if err == nil {
			err = do(&reflectionStream{ctx: ctx, stream: stream})
		} else {
			err = explained(ctx, err)
		}
		if status.Code(err) != codes.Unimplemented {
			return err
		}
	}
	return errors.New("the server has no reflection service; " + fileHint)
}

// reflectionStream is a stream of reflection requests and responses.
type reflectionStream struct {
	ctx    context.Context // of the user
	stream grpc.ClientStream
	size   int // bytes of all files so far
}

// maxFiles is how many bytes the files of a server may have.
const maxFiles = 64 << 20

func (t *reflectionStream) ask(question *reflectionv1.ServerReflectionRequest) (*reflectionv1.ServerReflectionResponse, error) {
	answer := new(reflectionv1.ServerReflectionResponse)
	// An error here is only io.EOF; RecvMsg returns the cause.
	_ = t.stream.SendMsg(question)
	if err := t.stream.RecvMsg(answer); err != nil {
		return nil, explained(t.ctx, err)
	}
	return answer, nil
}

// explained returns the error of a stream in plain words. A server may answer CANCELLED too.
func explained(ctx context.Context, err error) error {
	code, message := status.Code(err), status.Convert(err).Message()
	switch {
	case code == codes.Unimplemented:
		return err
	case code == codes.Canceled && errors.Is(ctx.Err(), context.Canceled):
		return context.Canceled
	case code == codes.DeadlineExceeded && strings.Contains(message, "connection error: "): // the last attempt to connect
		return fmt.Errorf("server reflection: %w: %s", ErrNoAnswer, message)
	case code == codes.DeadlineExceeded:
		return fmt.Errorf("server reflection: %w in time; %s", ErrNoAnswer, fileHint)
	case strings.Contains(message, "handshake failed: tls: "): // a certificate is wrong
		return fmt.Errorf("server reflection: %s", message)
	case code == codes.Unavailable:
		return fmt.Errorf("server reflection: %w: %s", ErrNoAnswer, message)
	}
	return fmt.Errorf("server reflection: %s (%s); send the metadata that it requires with --metadata, or %s", message, code, fileHint)
}

// allFiles returns the files of a response with all their imports. It requests imports that the
// server left out.
func (t *reflectionStream) allFiles(answer *reflectionv1.ServerReflectionResponse) (*descriptorpb.FileDescriptorSet, error) {
	set, known := new(descriptorpb.FileDescriptorSet), map[string]bool{}
	wanted, err := t.addFiles(answer, set, known)
	for err == nil && len(wanted) > 0 {
		name := wanted[0]
		wanted = wanted[1:]
		if known[name] {
			continue
		}
		answer, failed := t.ask(&reflectionv1.ServerReflectionRequest{
			MessageRequest: &reflectionv1.ServerReflectionRequest_FileByFilename{FileByFilename: name},
		})
		if failed != nil {
			return nil, failed
		}
		var more []string
		more, err = t.addFiles(answer, set, known)
		if !known[name] && err == nil {
			err = fmt.Errorf("the server did not send the file %s; use --proto or --protoset", name)
		}
		wanted = append(wanted, more...)
	}
	return set, err
}

// addFiles adds the files of a response to the set and returns their imports.
func (t *reflectionStream) addFiles(answer *reflectionv1.ServerReflectionResponse, set *descriptorpb.FileDescriptorSet, known map[string]bool) (imports []string, err error) {
	if e := answer.GetErrorResponse(); e != nil {
		return nil, fmt.Errorf("server reflection: %s (%s)", e.ErrorMessage, codes.Code(e.ErrorCode))
	}
	for _, data := range answer.GetFileDescriptorResponse().GetFileDescriptorProto() {
		if t.size += len(data); t.size > maxFiles {
			return nil, fmt.Errorf("server reflection: the files have more than %d bytes; %s", maxFiles, fileHint)
		}
		file := new(descriptorpb.FileDescriptorProto)
		if err := proto.Unmarshal(data, file); err != nil {
			return nil, fmt.Errorf("server reflection: a file is not a descriptor: %w", err)
		}
		if !known[file.GetName()] {
			known[file.GetName()] = true
			set.File = append(set.File, file)
			imports = append(imports, file.Dependency...)
		}
	}
	return imports, nil
}
