package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"rpclab/api"
	"rpclab/deploy/k6"
	"rpclab/internal/cluster"
	"rpclab/internal/experiment"
	"rpclab/internal/language"
	"rpclab/internal/process"
	"rpclab/internal/security"
	"rpclab/internal/workload"
)

// onLoopback is the address of a port on this machine.
func onLoopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

func labChainCommand() *cobra.Command {
	var restPort, grpcPort int
	var where labFlags
	command := &cobra.Command{
		Use:   "chain",
		Short: "Start the REST and gRPC servers of the chain study",
		Long: `Starts the servers of the published comparison of one dependent call (see
docs/studies.md) on this machine until Ctrl-C. REST is on port 8000 and gRPC on
50051, with the paths, packages and messages of the study, so its clients work
unchanged. Both servers are in Go.

With --on kubernetes they are pods, with ports 30800 and 30051 on every node.`,
		Example: `  rpclab lab up chain
  curl http://localhost:8000/increase/41
  rpclab load --call python_to_python_simple.Simple_python_python/increase \
      -d '{"num": "{{.Number}}"}' -c 1 -n 10000 127.0.0.1:50051`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			restPort, grpcPort = where.port(c, "rest-port", restPort, 30800), where.port(c, "port", grpcPort, 30051)
			if err := errors.Join(where.check(c), checkPorts(restPort, grpcPort)); err != nil {
				return usageError{err}
			}
			rest, grpc := onLoopback(restPort), onLoopback(grpcPort)
			return runServers(c, where, language.Go, []labServer{
				{what: "rest", Spec: cluster.Spec{Name: "rest", Listen: rest, Protocol: language.REST, Args: []string{"--model", workload.REST, "--published"}},
					try: []string{"curl http://" + rest + "/increase/41"}},
				{what: "grpc", Spec: cluster.Spec{Name: "grpc", Listen: grpc, Args: []string{"--published"}},
					try: []string{"rpclab load --call python_to_python_simple.Simple_python_python/increase -d '{\"num\": \"{{.Number}}\"}' -c 1 -n 10000 " + grpc}},
			}, nil)
		},
	}
	where.register(command.Flags())
	command.Flags().IntVar(&restPort, "rest-port", 8000, "`port` of REST")
	command.Flags().IntVar(&grpcPort, "port", 50051, "`port` of gRPC")
	return command
}

func labStreamsCommand() *cobra.Command {
	var port int
	var dir, client string
	var where labFlags
	command := &cobra.Command{
		Use:   "streams",
		Short: "Start the calculator of the streams study",
		Long: `Starts the server of the published comparison of unary calls and bidirectional
streams (see docs/studies.md) on this machine until Ctrl-C, with mutual TLS,
tokens and signed messages. It serves calculator.CalculatorService, the package
and messages of the study, and rpclab.v1.CalculatorService.

The keys are new each time. rpclab writes them below a directory, for 'rpclab
load' (keys.json) and for the study's own client, which has them in certs, cms
and jwt, and removes them when it ends. A client's name must be that of its
certificate.

With --on kubernetes the server is a pod, with port 30051 on every node. Its
certificate has no name of a node, which 'rpclab load' does not need.`,
		Example: `  rpclab lab up streams --keys-dir keys
  rpclab load --keys keys/keys.json -host=127.0.0.1:50051 -mode=bidirectional \
      -interval=1 -transactions=1000 -client-id=myClient -x 3 -y 1 \
      -operation=isprime -latency-gt=10 -jwt-gen=once`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			port = where.port(c, "port", port, 30051)
			if err := errors.Join(where.check(c), checkPort("--port", port)); err != nil {
				return usageError{err}
			}
			return labStreams(c, where, onLoopback(port), dir, client)
		},
	}
	flags := command.Flags()
	where.register(flags)
	flags.IntVar(&port, "port", 50051, "`port` of the server")
	flags.StringVar(&dir, "keys-dir", "", "new `directory` for the keys (default: a temporary one)")
	flags.StringVar(&client, "client-id", "myClient", "`name` in the certificate of the study's client")
	return command
}

func labStreams(c *cobra.Command, where labFlags, listen, dir, client string) (err error) {
	remove := func() error { return os.RemoveAll(dir) }
	if dir == "" {
		temporary, err := process.NewTempDir() // the next run removes it if this process is killed
		if err != nil {
			return err
		}
		dir, remove = temporary.Path, temporary.Remove
	} else if err := os.Mkdir(dir, 0o700); err != nil {
		return fmt.Errorf("%w\nChoose another directory with --keys-dir, or remove this one", err)
	}
	defer func() { err = errors.Join(err, remove()) }()
	authority, err := security.NewAuthority()
	if err != nil {
		return err
	}
	keys, err := authority.Server()
	if err != nil {
		return err
	}
	policy := security.Policy{Transport: security.MTLS, Tokens: true, Signing: true, NoAudience: true}
	file := filepath.Join(dir, "keys.json")
	if err := errors.Join(authority.Save(file, policy), authority.WritePublished(dir, client, security.Lifetime)); err != nil {
		return err
	}
	load := "rpclab load --keys " + file + " -host=" + listen + " -interval=1 -transactions=1000 -client-id=" + client + " -x 3 -y 1 -operation=isprime -latency-gt=10 -jwt-gen=once -mode="
	return runServers(c, where, language.Go, []labServer{{
		what: "calculator", try: []string{load + "bidirectional", load + "unary -workers=3"},
		Spec: cluster.Spec{Name: "calculator", Listen: listen, Args: []string{"--published", "--secured"}, Security: &security.Config{Policy: policy, Keys: keys}},
	}}, nil)
}

// labLadderFlags are the flags of `rpclab lab up ladder`.
type labLadderFlags struct {
	labFlags
	language, rest, grpc string // the models of the servers
	restPort, grpcPort   int
	cpus                 float64
	memory, script       string
}

func labLadderCommand() *cobra.Command {
	var f labLadderFlags
	command := &cobra.Command{
		Use:   "ladder",
		Short: "Start the REST and gRPC servers of the ladder study",
		Long: `Starts the servers of the published comparison of REST on threads, REST on
virtual threads and gRPC (see docs/studies.md) on this machine until Ctrl-C:
REST (POST /orders) on port 8080 and gRPC (OrderService/PlaceOrder) on 9090,
each with 1 CPU and 1.5 GiB. Both wait 200 to 499 ms. They accept the study's
own messages and those of rpclab.

With --on kubernetes they are pods with these limits, and have ports 30080 and
30090 on every node.

--script writes the load for k6, with the file order.proto that it needs: each
user keeps its connection and sends 1,000 articles. With -e PUBLISHED=1 the
script repeats the study's mistakes: orders have no articles, and a user of gRPC
connects for every call.`,
		Example: `  rpclab lab up ladder --rest rest-virtual --script k6
  k6 run -e USERS=1000 k6/ladder.js
  k6 run -e USERS=1000 -e PROTOCOL=grpc -e PUBLISHED=1 k6/ladder.js
  rpclab load --call rpclab.v1.OrderService/PlaceOrder -d '{}' \
      -c 1000 --think 1s --duration 60s 127.0.0.1:9090`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			f.restPort, f.grpcPort = f.port(c, "rest-port", f.restPort, 30080), f.port(c, "port", f.grpcPort, 30090)
			return labLadder(c, f)
		},
	}
	flags := command.Flags()
	f.register(flags)
	flags.StringVar(&f.language, "language", "java", "`language` of the servers: java or go")
	flags.StringVar(&f.rest, "rest", "", "`model` of the REST server: rest-blocking, rest-virtual or rest-webflux (default rest-blocking)")
	flags.StringVar(&f.grpc, "grpc", "", "`model` of the gRPC server: grpc-netty or grpc-servlet (default grpc-netty)")
	flags.IntVar(&f.restPort, "rest-port", 8080, "`port` of REST")
	flags.IntVar(&f.grpcPort, "port", 9090, "`port` of gRPC")
	flags.Float64Var(&f.cpus, "cpus", 1, "processors of each server; 0: no limit")
	flags.StringVar(&f.memory, "memory", "1.5Gi", "memory of each server, such as 512Mi; 0: no limit")
	flags.StringVar(&f.script, "script", "", "write the load for k6 to this new `directory`")
	return command
}

func labLadder(c *cobra.Command, f labLadderFlags) error {
	servers, err := f.servers(c)
	if err != nil {
		return usageError{err}
	}
	if f.script == "" {
		return runServers(c, f.labFlags, f.language, servers, nil)
	}
	if err := writeK6(f.script); err != nil {
		return err
	}
	started := false
	err = runServers(c, f.labFlags, f.language, servers, func() { started = true })
	if !started { // else the same command could not be repeated
		err = errors.Join(err, os.RemoveAll(f.script))
	}
	return err
}

// servers are the servers of REST and gRPC.
func (f labLadderFlags) servers(c *cobra.Command) (all []labServer, err error) {
	if languages := []string{"java", language.Go}; !slices.Contains(languages, f.language) {
		return nil, fmt.Errorf("--language %s: use one of %s", f.language, strings.Join(languages, ", "))
	}
	l, err := language.Lookup(f.language)
	if err != nil {
		return nil, err
	}
	var memory experiment.Bytes
	if f.memory != "0" {
		if memory, err = experiment.ParseMemory(f.memory); err != nil {
			return nil, fmt.Errorf("--memory: %w", err)
		}
	}
	if f.cpus < 0 {
		return nil, fmt.Errorf("--cpus %g: use 0 or more", f.cpus)
	}
	if err := errors.Join(f.check(c), checkPorts(f.restPort, f.grpcPort)); err != nil {
		return nil, err
	}
	for _, s := range []struct {
		flag, model, listen string
		rest                bool
		try                 string
	}{
		{"--rest", f.rest, onLoopback(f.restPort), true, "curl -d '{}' -H 'content-type: application/json' http://" + onLoopback(f.restPort) + "/orders"},
		{"--grpc", f.grpc, onLoopback(f.grpcPort), false, "rpclab load --call rpclab.v1.OrderService/PlaceOrder -d '{}' -c 1000 --think 1s --duration 60s " + onLoopback(f.grpcPort)},
	} {
		model, err := modelOf(l, s.model, s.rest)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.flag, err)
		}
		args := []string{"--model", model.Name, "--delay", "200ms", "--spread", "299ms", "--published"}
		all = append(all, labServer{what: model.Name, try: []string{s.try}, Spec: cluster.Spec{
			Name: model.Name, Listen: s.listen, Protocol: model.Protocol(), Args: args, CPUs: f.cpus, Memory: uint64(memory),
			RuntimeEnv: l.LimitEnv(f.cpus, uint64(memory)),
		}})
	}
	return all, nil
}

// modelOf returns a model of a language that serves REST or gRPC, the first if the name is empty.
func modelOf(l language.Language, name string, rest bool) (language.Model, error) {
	if name != "" {
		model, err := l.Model(name)
		if err == nil && (model.REST != rest || model.TCP) {
			err = fmt.Errorf("the model %s serves %s: name it with the other flag, --rest or --grpc", name, model.Protocol())
		}
		return model, err
	}
	i := slices.IndexFunc(l.Models, func(m language.Model) bool { return m.REST == rest && !m.TCP })
	return l.Models[i], nil
}

// writeK6 writes the load of the study to a new directory.
func writeK6(dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return fmt.Errorf("%w\nChoose another directory with --script, or remove this one", err)
	}
	proto, err := api.Protos.ReadFile("rpclab/v1/order.proto")
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(filepath.Join(dir, "ladder.js"), []byte(k6.Ladder), 0o644), os.WriteFile(filepath.Join(dir, "order.proto"), proto, 0o644))
}
