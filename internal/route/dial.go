package route

import "google.golang.org/grpc"

// DialOptions make a grpc-go channel take the route:
//
//	grpc.NewClient(target.URI, append(target.DialOptions(), credentials)...)
//
// They never use an HTTP proxy from the environment. Transport credentials are the
// caller's to add.
func (t Target) DialOptions() []grpc.DialOption {
	opts := []grpc.DialOption{grpc.WithNoProxy()}
	if t.ServiceConfig != "" {
		opts = append(opts, grpc.WithDefaultServiceConfig(t.ServiceConfig))
	}
	if t.Dial != nil {
		opts = append(opts, grpc.WithContextDialer(t.Dial))
	}
	if len(t.Resolvers) > 0 {
		opts = append(opts, grpc.WithResolvers(t.Resolvers...))
	}
	return opts
}
