package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"rpclab/internal/experiment"
	"rpclab/internal/lab"
	generator "rpclab/internal/load"
	"rpclab/internal/service/draft"
)

// draftSettings are the settings with which rpclab asks a server for its methods.
var draftSettings = generator.Settings{Engine: generator.GRPCGo, Balance: generator.PickFirst, Timeout: 20 * time.Second, MaxInFlight: 1}

// initCommand writes the first version of a service file.
func initCommand() *cobra.Command {
	settings := draftSettings
	var openAPI string
	command := &cobra.Command{
		Use:   "init HOST:PORT",
		Short: "Write a service file for your own service",
		Long: `Writes a service file to standard output: where your service runs, and one call
for each of its methods with a sample message. Experiments run on it with
'rpclab run NAME --service FILE'. Look at the messages first: rpclab does not
know which values your service accepts, or which of its methods change data.

rpclab asks a gRPC server for its methods by reflection, or reads --proto or
--protoset. Of an HTTP server it reads the OpenAPI document. It makes no call.`,
		Example: `  rpclab init 127.0.0.1:50051 > orders.yaml
  rpclab init 127.0.0.1:50051 --proto api/orders.proto > orders.yaml
  rpclab init 127.0.0.1:8080 --openapi api/orders.json > orders.yaml
  rpclab run churn --service orders.yaml`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 1 {
				return nil
			}
			return usageError{fmt.Errorf("%s needs the address of a server, HOST:PORT, but got %d arguments\nSee '%s --help'", c.CommandPath(), len(args), c.CommandPath())}
		},
		RunE: func(c *cobra.Command, args []string) error {
			settings.Target = args[0]
			text, err := draftService(c.Context(), settings, openAPI)
			if err != nil {
				return err
			}
			if _, err = c.OutOrStdout().Write(text); err != nil {
				return err
			}
			// Flags may contradict each other in a service file.
			if _, err := experiment.ReadService(experiment.ServiceDocument{File: "FILE", Text: text}, lab.Vocabulary()); err != nil {
				fmt.Fprintf(c.ErrOrStderr(), "rpclab: edit the file before you use it: %v\n", err)
			}
			return nil
		},
	}
	flags := command.Flags()
	flags.StringVar(&settings.Proto, "proto", "", "`file` that describes the methods (default: ask the server)")
	flags.StringArrayVar(&settings.ImportPaths, "import-path", nil, "`directory` of --proto and its imports (repeatable)")
	flags.StringVar(&settings.Protoset, "protoset", "", "`file` with a compiled descriptor set that describes the methods")
	flags.StringVar(&openAPI, "openapi", "", "OpenAPI document (version 3) in `file` that describes the requests to an HTTP server")
	flags.StringArrayVarP(&settings.Metadata, "metadata", "H", nil, "metadata of every call, `key: value` (repeatable)")
	flags.StringVar(&settings.Authority, "authority", "", "`name` in :authority of every call")
	tlsFlags(flags, &settings.TLS)
	return command
}

// draftService returns a service file of the methods of a gRPC server, or of the requests in an OpenAPI document.
func draftService(ctx context.Context, settings generator.Settings, openAPI string) ([]byte, error) {
	addresses, err := serviceAddresses(settings.Target)
	if err != nil {
		return nil, err
	}
	s := draft.Service{
		Command: "rpclab init " + settings.Target, Addresses: addresses,
		ImportPaths: settings.ImportPaths, Protoset: settings.Protoset, Authority: settings.Authority,
	}
	if t := settings.TLS; t != (generator.TLS{}) {
		s.TLS = &draft.TLS{CACert: t.CACert, Cert: t.Cert, Key: t.Key, ServerName: t.ServerName, Insecure: t.Insecure}
	}
	for _, line := range settings.Metadata {
		key, value, ok := strings.Cut(line, ":")
		if key = strings.TrimSpace(key); !ok || key == "" {
			return nil, usageError{fmt.Errorf("--metadata %q: use the form key: value", line)}
		}
		s.Metadata = append(s.Metadata, [2]string{key, strings.TrimSpace(value)})
	}
	described := slices.DeleteFunc([]string{settings.Proto, settings.Protoset, openAPI}, func(file string) bool { return file == "" })
	if len(described) > 1 {
		return nil, usageError{errors.New("--proto, --protoset and --openapi exclude each other: set one of them")}
	}
	if openAPI != "" {
		for _, address := range s.Addresses {
			if host, port, err := net.SplitHostPort(address); err != nil || host == "" || port == "" {
				return nil, usageError{fmt.Errorf("%q is no address of a server: use HOST:PORT, such as 127.0.0.1:8080", address)}
			}
		}
		if s.OpenAPI, err = draft.ReadOpenAPI(openAPI); err != nil {
			return nil, usageError{fmt.Errorf("--openapi: %w", err)}
		}
		return s.Write()
	}
	services, err := settings.Services(ctx)
	if err != nil {
		err = fmt.Errorf("find the methods of %s: %w", settings.Target, err)
		if errors.Is(err, generator.ErrInvalid) {
			err = usageError{err}
		}
		return nil, err
	}
	if s.Methods = draft.Usable(services); len(s.Methods) == 0 {
		return nil, fmt.Errorf("%s describes no methods except those of gRPC itself: use --proto or --protoset", settings.Target)
	}
	if settings.Proto != "" {
		s.Proto = []string{settings.Proto}
	}
	return s.Write()
}

// serviceAddresses are the addresses of a target in the form of a service file: HOST:PORT.
func serviceAddresses(target string) (all []string, err error) {
	for part := range strings.SplitSeq(target, ",") {
		part = strings.TrimSpace(part)
		address := part
		if name, ok := strings.CutPrefix(part, "dns:"); ok {
			address = strings.TrimPrefix(name, "///")
		}
		if strings.HasPrefix(address, "unix:") || strings.HasPrefix(address, "//") {
			return nil, usageError{fmt.Errorf("%q cannot be in a service file: experiments call HOST:PORT over TCP, and ask the name servers of this machine", part)}
		}
		all = append(all, address)
	}
	return all, nil
}
