package load

import (
	"context"
	"crypto/tls"
	"errors"

	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/reflect/protoreflect"

	"rpclab/internal/service/data"
	"rpclab/internal/service/decode"
	"rpclab/internal/service/method"
	"rpclab/internal/service/request"
	"rpclab/internal/service/stream"
)

// Open prepares a load. Errors of the request match [ErrInvalid]; others report what went wrong
// with the target.
func Open(ctx context.Context, settings Settings) (*Load, error) {
	if err := settings.Check(); err != nil {
		return nil, err
	}
	plan, err := settings.Pace()
	if err != nil {
		return nil, err
	}
	load := &Load{settings: settings, pace: plan, selfTest: SelfTest}
	if settings.HTTP != "" {
		err = load.openHTTP(ctx)
	} else {
		err = load.openGRPC(ctx)
	}
	if err != nil {
		return nil, err
	}
	return load, nil
}

func (l *Load) openGRPC(ctx context.Context) error {
	settings := l.settings
	headers, err := settings.headers()
	if err != nil {
		return err
	}
	md, err := grpcMetadata(headers)
	if err != nil {
		return err
	}
	templates, err := settings.templates()
	if err != nil {
		return err
	}
	first, err := templates.gRPC(data.Call{})
	if err != nil {
		return request.Invalid(err)
	}
	security, err := settings.TLS.Config()
	if err != nil {
		return err
	}
	if l.to, err = settings.resolveTarget(ctx, settings.Target); err != nil {
		return err
	}
	found, err := settings.findMethod(ctx, l.to, security, metadata.Join(md, first))
	if err != nil {
		return err
	}
	if l.messages, err = settings.messages(found.Input()); err != nil {
		return err
	}
	if l.stream, err = stream.New(settings.streams(), found, stream.Flags); err != nil {
		return request.Invalid(err)
	}
	path := method.Path(found)
	l.method = path[1:]
	var decodes func([]byte) error
	if !settings.NoDecode {
		decodes = decode.New(found.Output()).Check
	}
	if settings.Engine == Wire {
		wired, err := openWire(ctx, wireConfig{
			target: l.to, connections: max(settings.Connections, 1), cores: max(settings.Cores, 1), security: withServerName(security, l.to.authority),
			timeout: settings.Timeout, path: path, fields: fields(md), messages: l.messages, stream: l.stream, compress: settings.Compress == Gzip, userAgent: settings.UserAgent, templates: templates,
			pace: l.pace, perCall: settings.PerCall, connecting: settings.ConnectionOptions, limits: settings.ResponseLimits, decode: ofAnyType(decodes),
		})
		if err != nil {
			return err
		}
		l.client = wired
		return nil
	}
	client, err := openGRPC(ctx, l.to, max(settings.Connections, 1), security, settings.ResponseLimits, nil, settings.dialOptions()...)
	if err != nil {
		return err
	}
	client.decode = decodes
	client.path, client.headers, client.timeout, client.messages, client.stream, client.templates = path, md, settings.Timeout, l.messages, l.stream, templates
	l.client = client
	return nil
}

// ofAnyType ignores the content type: that of gRPC is known.
func ofAnyType(decodes func([]byte) error) func([]byte, string) error {
	if decodes == nil {
		return nil
	}
	return func(response []byte, _ string) error { return decodes(response) }
}

// reflectionLimits fit the descriptions of large services.
var reflectionLimits = ResponseLimits{MaxMessage: 64 << 20}

// findMethod finds the method's description in files, or asks the server over a separate
// connection.
func (s Settings) findMethod(ctx context.Context, to target, security *tls.Config, md metadata.MD) (found protoreflect.MethodDescriptor, err error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	source, err := s.source(ctx)
	if err != nil {
		return nil, err
	}
	if source == nil {
		reflector, err := openGRPC(ctx, to, 1, security, reflectionLimits, nil, s.dialOptions()...)
		if err != nil {
			return nil, err
		}
		defer reflector.Close()
		source = method.FromServer(reflector.channels[0], md)
	}
	found, err = method.Find(ctx, source, s.Call)
	if errors.Is(err, request.ErrInvalid) {
		return nil, request.Invalidf("--call %s: %w", s.Call, err)
	}
	return found, err
}

// source returns where the method is described; nil: server reflection.
func (s Settings) source(ctx context.Context) (source method.Source, err error) {
	switch {
	case s.Proto != "":
		source, err = method.FromProto(ctx, []string{s.Proto}, s.ImportPaths)
	case s.Protoset != "":
		source, err = method.FromSet(s.Protoset)
	}
	if err != nil {
		return nil, request.Invalid(err)
	}
	return source, nil
}

// Services returns the services that files or the server describe, without making a call.
func (s Settings) Services(ctx context.Context) (all []protoreflect.ServiceDescriptor, err error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	source, err := s.source(ctx)
	if err != nil {
		return nil, err
	}
	if source == nil {
		md, err := s.reflectionMetadata()
		if err != nil {
			return nil, err
		}
		security, err := s.TLS.Config()
		if err != nil {
			return nil, err
		}
		to, err := s.resolveTarget(ctx, s.Target)
		if err != nil {
			return nil, err
		}
		reflector, err := openGRPC(ctx, to, 1, security, reflectionLimits, nil, s.dialOptions()...)
		if err != nil {
			return nil, err
		}
		defer reflector.Close()
		source = method.FromServer(reflector.channels[0], md)
	}
	names, err := source.Services(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		found, err := source.Service(ctx, name)
		if err != nil {
			return nil, err
		}
		if found != nil {
			all = append(all, found)
		}
	}
	return all, nil
}

// reflectionMetadata returns the metadata of a request for descriptions, templates as of call 0.
func (s Settings) reflectionMetadata() (metadata.MD, error) {
	headers, err := s.headers()
	if err != nil {
		return nil, err
	}
	md, err := grpcMetadata(headers)
	if err != nil {
		return nil, err
	}
	templates, err := s.templates()
	if err != nil {
		return nil, err
	}
	first, err := templates.gRPC(data.Call{})
	if err != nil {
		return nil, request.Invalid(err)
	}
	return metadata.Join(md, first), nil
}
