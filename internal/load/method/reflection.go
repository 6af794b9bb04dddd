package method

import (
	"context"
	"errors"
	"fmt"

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

// The two versions of the reflection service. Their messages are the same on the
// wire, so those of v1 serve both.
const (
	reflectionV1      = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"
	reflectionV1Alpha = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
)

// byFile is what one can do without the service.
const byFile = "give its methods by --proto FILE or --protoset FILE"

// reflection is a source that asks the server.
type reflection struct {
	channel grpc.ClientConnInterface
	headers metadata.MD
}

// FromServer asks a server by reflection, v1 and then v1alpha, with the metadata of
// the load, which a server may want to see before it answers.
func FromServer(channel grpc.ClientConnInterface, headers metadata.MD) Source {
	return reflection{channel, headers}
}

func (r reflection) Services(ctx context.Context) (names []string, err error) {
	err = r.ask(ctx, func(t *talk) error {
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
	err = r.ask(ctx, func(t *talk) error {
		answer, err := t.ask(&reflectionv1.ServerReflectionRequest{
			MessageRequest: &reflectionv1.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: name},
		})
		if err != nil || answer.GetErrorResponse().GetErrorCode() == int32(codes.NotFound) {
			return err
		}
		set, err := t.complete(answer)
		if err != nil {
			return err
		}
		all, err := protodesc.NewFiles(set)
		if err != nil {
			return fmt.Errorf("the server's descriptors are not complete: %w; use --proto or --protoset", err)
		}
		found, err = files{all}.Service(ctx, name)
		return err
	})
	return found, err
}

// ask opens a talk with the first version of the service that the server knows.
func (r reflection) ask(ctx context.Context, do func(*talk) error) error {
	ctx, cancel := context.WithCancel(metadata.NewOutgoingContext(ctx, r.headers))
	defer cancel() // ends the stream
	for _, version := range []string{reflectionV1, reflectionV1Alpha} {
		stream, err := r.channel.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, version)
		if err == nil {
			err = do(&talk{stream})
		}
		if status.Code(err) != codes.Unimplemented {
			return err
		}
	}
	return errors.New("the server has no reflection service; " + byFile)
}

// talk is one stream of questions and answers.
type talk struct{ stream grpc.ClientStream }

func (t *talk) ask(question *reflectionv1.ServerReflectionRequest) (*reflectionv1.ServerReflectionResponse, error) {
	answer := new(reflectionv1.ServerReflectionResponse)
	// A send that fails says only EOF; the reason comes with the answer.
	_ = t.stream.SendMsg(question)
	if err := t.stream.RecvMsg(answer); err != nil {
		switch code := status.Code(err); code {
		case codes.Unimplemented:
			return nil, err
		case codes.Canceled:
			return nil, context.Canceled
		case codes.DeadlineExceeded:
			return nil, errors.New("server reflection: no answer in time; " + byFile)
		default:
			return nil, fmt.Errorf("server reflection: %s (%s); send what it wants to see by --metadata, or %s",
				status.Convert(err).Message(), code, byFile)
		}
	}
	return answer, nil
}

// complete is the files of an answer and all that they import, asked for one by one
// when the server left them out.
func (t *talk) complete(answer *reflectionv1.ServerReflectionResponse) (*descriptorpb.FileDescriptorSet, error) {
	set, known := new(descriptorpb.FileDescriptorSet), map[string]bool{}
	wanted, err := t.take(answer, set, known)
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
		more, err = t.take(answer, set, known)
		if !known[name] && err == nil {
			err = fmt.Errorf("the server sent another file than %s; use --proto or --protoset", name)
		}
		wanted = append(wanted, more...)
	}
	return set, err
}

// take adds the files of an answer to the set and returns the names of their imports.
func (t *talk) take(answer *reflectionv1.ServerReflectionResponse, set *descriptorpb.FileDescriptorSet, known map[string]bool) (imports []string, err error) {
	if e := answer.GetErrorResponse(); e != nil {
		return nil, fmt.Errorf("server reflection: %s (%s)", e.ErrorMessage, codes.Code(e.ErrorCode))
	}
	for _, data := range answer.GetFileDescriptorResponse().GetFileDescriptorProto() {
		file := new(descriptorpb.FileDescriptorProto)
		if err := proto.Unmarshal(data, file); err != nil {
			return nil, fmt.Errorf("server reflection: a file is no descriptor: %w", err)
		}
		if !known[file.GetName()] {
			known[file.GetName()] = true
			set.File = append(set.File, file)
			imports = append(imports, file.Dependency...)
		}
	}
	return imports, nil
}
