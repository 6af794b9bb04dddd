package load

import (
	"context"
	"crypto/tls"
	"errors"

	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/reflect/protoreflect"

	"rpclab/internal/service/decode"
	"rpclab/internal/service/method"
	"rpclab/internal/service/request"
	"rpclab/internal/service/stream"
	"rpclab/internal/wire/h2"
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
	load := &Load{settings: settings, pace: plan}
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
	md, templates, err := settings.callMetadata()
	if err != nil {
		return err
	}
	l.templates = len(templates) > 0
	security, err := settings.TLS.Config()
	if err != nil {
		return err
	}
	if l.to, err = settings.resolveTarget(ctx, settings.Target); err != nil {
		return err
	}
	found, err := settings.findMethod(ctx, l.to, security, md.first)
	if err != nil {
		return err
	}
	if err = l.readMessages(found.Input()); err != nil {
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
			timeout: settings.Timeout, path: path, fields: h2.AppendMetadata(nil, md.fixed), messages: l.messages, stream: l.stream, compress: settings.Compress == Gzip, userAgent: settings.UserAgent, templates: templates,
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
	client.path, client.headers, client.timeout, client.messages, client.stream, client.templates = path, md.fixed, settings.Timeout, l.messages, l.stream, templates
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
	err = s.readDescriptions(ctx, to, security, md, func(ctx context.Context, source method.Source) (err error) {
		found, err = method.Find(ctx, source, s.Call)
		if errors.Is(err, request.ErrInvalid) {
			return request.Invalidf("--call %s: %w", s.Call, err)
		}
		return err
	})
	return found, err
}

// readDescriptions calls read with the descriptions of methods in files, or of the server over a separate connection.
func (s Settings) readDescriptions(ctx context.Context, to target, security *tls.Config, md metadata.MD, read func(context.Context, method.Source) error) error {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	source, err := s.source(ctx)
	if err != nil {
		return err
	}
	if source == nil {
		reflector, err := openGRPC(ctx, to, 1, security, reflectionLimits, nil, s.dialOptions()...)
		if err != nil {
			return err
		}
		defer reflector.Close()
		source = method.FromServer(reflector.channels[0], md)
	}
	return read(ctx, source)
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

// Services returns the services that files or the server describe, without making a call. Errors of the request match
// [ErrInvalid].
func (s Settings) Services(ctx context.Context) (all []protoreflect.ServiceDescriptor, err error) {
	if _, err := parseTarget(s.Target); err != nil {
		return nil, err
	}
	md, _, err := s.callMetadata()
	if err != nil {
		return nil, err
	}
	security, err := s.TLS.Config()
	if err != nil {
		return nil, err
	}
	var to target
	if s.Proto == "" && s.Protoset == "" {
		if to, err = s.resolveTarget(ctx, s.Target); err != nil {
			return nil, err
		}
	}
	err = s.readDescriptions(ctx, to, security, md.first, func(ctx context.Context, source method.Source) error {
		names, err := source.Services(ctx)
		for _, name := range names {
			found, failed := source.Service(ctx, name)
			if err = errors.Join(err, failed); found != nil {
				all = append(all, found)
			}
		}
		return err
	})
	return all, err
}
