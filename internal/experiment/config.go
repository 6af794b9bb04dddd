package experiment

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"rpclab/internal/result/condition"
)

// Config is everything an arm can choose.
type Config struct {
	Workload Workload `yaml:"workload" doc:"the method that calls invoke" required:"true"`
	Service  string   `yaml:"service" doc:"the service, of services, that calls invoke (default: rpclab's own servers)"`
	Server   Server   `yaml:"server" doc:"the servers under test"`
	Caller   Caller   `yaml:"caller" doc:"the client under test and its channels"`
	Gateway  *Gateway `yaml:"gateway" doc:"an HTTP gateway between the caller and the servers, which makes the gRPC calls"`
	Route    string   `yaml:"route" doc:"how calls reach a backend" vocabulary:"routes" required:"true"`
	Policy   string   `yaml:"policy" doc:"load balancing policy (default: that of the route)" vocabulary:"policies"`
	Outlier  *Outlier `yaml:"outlier" doc:"outlier detection: eject backends whose calls fail, on routes that support it"`
	Proxy    *Proxy   `yaml:"proxy" doc:"placement and size of the proxy, on routes with a proxy"`
	Load     Load     `yaml:"load" doc:"when calls are due" required:"true"`
	Callers  int      `yaml:"callers" doc:"number of caller processes that share the load; with sidecar proxies, each has its own (default: 1)" min:"1" max:"64"`
}

// ParseSLO reads the condition of a search. It can name the codes of a client of the user's.
func (c Config) ParseSLO() (condition.Condition, error) {
	if c.Caller.Command != nil {
		return condition.ParseOwnCodes(c.Load.Search.SLO)
	}
	return condition.Parse(c.Load.Search.SLO)
}

// Workload is exactly one of its fields.
type Workload struct {
	Greet     *Greet     `yaml:"greet" doc:"Greeter/SayHello, which responds after a delay" alternative:"true"`
	Fibonacci *Fibonacci `yaml:"fibonacci" doc:"Fibonacci/Compute, which uses CPU time" alternative:"true"`
	Increment bool       `yaml:"increment" doc:"Counter/Increment, which increments a counter in the backend" alternative:"true"`
	Increase  bool       `yaml:"increase" doc:"Chain/Increase, which returns the given number plus one" alternative:"true"`
	Orders    *Orders    `yaml:"orders" doc:"OrderService/PlaceOrder, which responds after a random delay" alternative:"true"`
	Calculate *Calculate `yaml:"calculate" doc:"CalculatorService, with the same calculation in every call" alternative:"true"`
	Call      string     `yaml:"call" doc:"a call of the arm's service, by its name" alternative:"true"`
	Mix       Mix        `yaml:"mix" doc:"several calls of the arm's service, each with its share, such as {get: 80%, list: 20%}, or with its weight" alternative:"true"`
	Flow      []string   `yaml:"flow" doc:"several calls of the arm's service in their order, such as [login, get]; what is due is all of them" alternative:"true"`
}

// Greet calls Greeter.
type Greet struct {
	Delay   time.Duration `yaml:"delay" doc:"delay before the server responds" max:"1m"`
	Workers int           `yaml:"workers" doc:"calls that a backend delays at once; further calls queue (default: no limit)" min:"1" max:"1000000"`
}

// Fibonacci computes the n-th Fibonacci number. Calls use each n from From to To in turn.
type Fibonacci struct {
	From int `yaml:"from" doc:"smallest n" min:"0" max:"100000" default:"800"`
	To   int `yaml:"to" doc:"largest n" min:"0" max:"100000" default:"1000"`
}

// Orders calls OrderService.
type Orders struct {
	Delay    time.Duration `yaml:"delay" doc:"delay before the server responds" max:"1m" default:"200ms"`
	Spread   time.Duration `yaml:"spread" doc:"maximum of the random extra delay of each call" max:"1m" default:"299ms"`
	Articles int           `yaml:"articles" doc:"articles in an order" min:"0" max:"100000" default:"1000"`
}

// Server configures the servers under test.
type Server struct {
	Language string        `yaml:"language" doc:"programming language of the server" vocabulary:"languages" default:"go"`
	Model    string        `yaml:"model" doc:"server model: grpc, rest, … (default: the first of the language)"`
	Replicas int           `yaml:"replicas" doc:"number of backends" min:"1" max:"250" default:"3"`
	Fresh    bool          `yaml:"fresh" doc:"start new server processes for every trial; false reuses them while the settings of the server stay the same" default:"true"`
	Drain    time.Duration `yaml:"drain" doc:"time that a stopping backend still accepts calls" max:"1m"`
	Workers  int           `yaml:"workers" doc:"calls that a backend handles at once; further calls queue (default: no limit)" min:"1" max:"1000000"`
	MaxAge   time.Duration `yaml:"max_age" doc:"age at which the server closes a connection, randomly 10 % more or less (MAX_CONNECTION_AGE; default: never)" max:"1h"`
	AgeGrace time.Duration `yaml:"age_grace" doc:"time that the calls of such a connection have to finish (MAX_CONNECTION_AGE_GRACE; default: no limit)" max:"1h"`
	CPUs     float64       `yaml:"cpus" doc:"CPU limit of a backend (default: none)" min:"0.01" max:"256"`
	Memory   Bytes         `yaml:"memory" doc:"memory limit of a backend, such as 1.5Gi (default: none)" min:"8Mi" max:"1Ti"`
	Heap     Bytes         `yaml:"heap" doc:"largest heap of a JVM, such as 384Mi (default: 60 % of its memory)" min:"8Mi" max:"1Ti"`
	Direct   Bytes         `yaml:"direct_memory" doc:"largest direct memory of a JVM, which Netty uses for buffers (default: as large as the heap)" min:"1Mi" max:"1Ti"`
	API      string        `yaml:"api" doc:"version of Chain, which callers know as v1: v1 (default); v2, another package or path in place of v1; both; changed, the same names with another field" enum:"v1,v2,both,changed"`
	NextAPI  string        `yaml:"next_api" doc:"version of Chain on the backends that the event roll starts (default: that of api)" enum:"v1,v2,both,changed"`
	Security string        `yaml:"security" doc:"encryption of connections to CalculatorService: none (default); tls: the server presents a certificate; mtls: the client does too" enum:"none,tls,mtls"`
	Zones    int           `yaml:"zones" doc:"number of zones, to which rpclab assigns backends in turn; callers are in the first zone (default: 1)" min:"1" max:"10"`
}

// Caller configures the client under test.
type Caller struct {
	Kind          string            `yaml:"kind" doc:"the client library" vocabulary:"callers" default:"grpc-go" alternative:"true"`
	Command       []string          `yaml:"command" doc:"program and arguments of a client of your own, in place of kind (docs/your-client.md)" alternative:"true"`
	Dir           string            `yaml:"dir" doc:"working directory of caller.command (default: that of the file)"`
	Env           map[string]string `yaml:"env" doc:"environment variables of caller.command"`
	ReadyTimeout  time.Duration     `yaml:"ready_timeout" doc:"time until the program of caller.command must be ready (default: 1m)" max:"10m"`
	Channel       Channel           `yaml:"channel" doc:"per-call, per-user, shared, or {pool: N}" default:"shared"`
	Timeout       time.Duration     `yaml:"timeout" doc:"deadline of a call" min:"1ms" max:"1h" default:"30s"`
	Warmup        int               `yaml:"warmup" doc:"calls made at once before the measurement, not counted" min:"0" max:"100000" default:"30"`
	WarmupMax     time.Duration     `yaml:"warmup_max" doc:"after these calls, warm up with the load itself until rate and median latency are steady, at most this long (default: do not)" max:"10m"`
	Late          time.Duration     `yaml:"late" doc:"a call counts as late if its latency exceeds this (default: 100ms)" max:"1h"`
	Retry         *Retry            `yaml:"retry" doc:"retry failed calls (gRFC A6)"`
	ServiceConfig ServiceConfig     `yaml:"service_config" doc:"gRPC service config of the client, as in JSON; its fields (methodConfig, retryThrottling, loadBalancingConfig, healthCheckConfig) replace those that rpclab sets, and names are checked"`
	Keepalive     *Keepalive        `yaml:"keepalive" doc:"PINGs with which the client finds out that a connection is dead (gRFC A8)"`
	Hedge         *Hedge            `yaml:"hedge" doc:"hedging: send a slow call again while the first attempt is in flight (gRFC A6)"`
	Limits        *CallerLimits     `yaml:"limits" doc:"limits of each caller's process, such as those of a pod"`
	HTTP2         bool              `yaml:"http2" doc:"make HTTP requests over HTTP/2, in clear text unless the service has tls (default: HTTP/1.1)"`
	Compress      bool              `yaml:"compress" doc:"compress requests with gzip, and responses except those of servers in Python"`
	Stream        *Stream           `yaml:"stream" doc:"send calls as messages on long-lived streams instead of unary calls"`
	Style         string            `yaml:"style" doc:"style of calculations: bidi uses bidirectional streams; unary-stream uses unary calls whose results arrive on a stream" enum:"bidi,unary-stream"`
	Streams       int               `yaml:"streams" doc:"number of bidirectional streams that calculations use in turn (default: 1)" min:"1" max:"1000"`
	Ahead         string            `yaml:"ahead" doc:"when a user sends the next calculation before the result of the last one arrives: taken, when the unary call returns; sent, without waiting" enum:"taken,sent"`
	JWT           string            `yaml:"jwt" doc:"tokens that the server verifies: none (default); once: one token for all calls; every: one per call or stream" enum:"none,once,every"`
	Signing       bool              `yaml:"signing" doc:"sign and verify every calculation and its result (CMS)"`
	Metadata      int               `yaml:"metadata" doc:"extra metadata entries of 32 bytes in every call of CalculatorService" min:"0" max:"100"`
}

// CallerLimits are limits of a caller's process.
type CallerLimits struct {
	OpenFiles int   `yaml:"open_files" doc:"open files, as ulimit -n (default: as many as the system allows)" min:"64" max:"1000000"`
	Memory    Bytes `yaml:"memory" doc:"memory for data, as ulimit -d: a caller that needs more exits (default: none)" min:"64Mi" max:"1Ti"`
	Ports     int   `yaml:"ports" doc:"local ports for connections to a backend, by the route clusterip on Linux 6.3 or newer (default: those of the system)" min:"1" max:"20000"`
}

// ServiceConfig is a gRPC service config in JSON; empty: none.
type ServiceConfig string

// Channel is how calls share channels: per-call, shared or a pool of N.
type Channel struct {
	Mode string `yaml:"-" words:"per-call,per-user,shared"` // or pool
	Pool int    `yaml:"pool" doc:"number of channels, which calls use in turn" min:"1" max:"10000" required:"true"`
}

// Calculate calls CalculatorService.
type Calculate struct {
	X         int    `yaml:"x" doc:"first number; the cost of isprime grows with its square root" default:"1000000000037"`
	Y         int    `yaml:"y" doc:"second number" default:"1"`
	Operation string `yaml:"operation" doc:"add, subtract, or isprime (of x)" enum:"add,subtract,isprime" default:"isprime"`
}

// Gateway is an HTTP server between caller and servers: every request makes gRPC calls.
type Gateway struct {
	Model      string `yaml:"model" doc:"concurrency of requests: one-thread, one at a time; threads, all at once; async, all at once, each over its own channel, as published" enum:"one-thread,threads,async" default:"threads"`
	Channel    string `yaml:"channel" doc:"shared: one channel for all requests; per-request: one for each, which in Python share a connection; own-connection: one for each, with its own (default: per-request for async, else shared)" enum:"shared,per-request,own-connection"`
	Language   string `yaml:"language" doc:"programming language of the gateway" enum:"go,python" default:"go"`
	Iterations int    `yaml:"iterations" doc:"calls that each request makes, one after the other" min:"1" max:"10000" default:"100"`
}

// Proxy configures the proxy of a route.
type Proxy struct {
	Place   string `yaml:"place" doc:"gateway: one proxy for all callers; sidecar: one for each caller" enum:"gateway,sidecar" default:"gateway"`
	Workers int    `yaml:"workers" doc:"worker threads or processes of the proxy" min:"1" max:"64" default:"1"`
}

// Outlier configures outlier detection (gRFC A50).
type Outlier struct {
	Failures Percent       `yaml:"failures" doc:"share of failed calls in an interval above which a backend is ejected" min:"1%" max:"99%" default:"50%"`
	Calls    int           `yaml:"calls" doc:"minimum number of calls in an interval to judge a backend" min:"1" max:"1000000" default:"10"`
	Interval time.Duration `yaml:"interval" doc:"interval between checks" min:"10ms" max:"1h" default:"500ms"`
	Eject    time.Duration `yaml:"eject" doc:"duration of the first ejection of a backend" min:"10ms" max:"1h" default:"5s"`
	Most     Percent       `yaml:"most" doc:"maximum share of ejected backends" min:"1%" max:"100%" default:"50%"`
}

// Retry configures retries in the service config of the client.
type Retry struct {
	Attempts int           `yaml:"attempts" doc:"maximum number of attempts" min:"2" max:"5" default:"3"`
	Backoff  time.Duration `yaml:"backoff" doc:"delay before the second attempt, randomly 20 % more or less; it doubles for each further attempt" min:"1ms" max:"1m" default:"10ms"`
	Codes    []string      `yaml:"codes" doc:"status codes to retry (default: UNAVAILABLE)"`
}

// Keepalive configures the PINGs of a client.
type Keepalive struct {
	Time         time.Duration `yaml:"time" doc:"time without data after which the client sends a PING; a server may close the connection if they are more frequent than it allows (too_many_pings)" min:"10s" max:"1h" required:"true"`
	Timeout      time.Duration `yaml:"timeout" doc:"the client closes the connection if no response arrives within this time" min:"1ms" max:"1h" default:"20s"`
	WithoutCalls bool          `yaml:"without_calls" doc:"also send PINGs while no call is in flight"`
}

// Hedge sends a call again while it has no response; the first response counts.
type Hedge struct {
	Attempts int           `yaml:"attempts" doc:"maximum number of attempts" min:"2" max:"5" default:"2"`
	Delay    time.Duration `yaml:"delay" doc:"delay between attempts" min:"1ms" max:"1m" default:"50ms"`
}

// Stream sends calls as messages on streams. Without Pipelined, each message waits for the
// response to the previous one.
type Stream struct {
	Pipelined bool          `yaml:"pipelined" doc:"send all messages on one stream without waiting for responses"`
	Renew     time.Duration `yaml:"renew" doc:"age at which the caller closes a stream, between two messages, and opens another (default: never)" max:"1h"`
}

// CallShare is one call of a workload on a service.
type CallShare struct {
	Call   string
	Weight uint64 // among all calls of the workload
}

// Shares are the calls of a service that a workload makes, in the order of a flow or of their names; none: the
// workload is one of rpclab's own servers.
func (w Workload) Shares() (all []CallShare) {
	if w.Call != "" {
		return []CallShare{{w.Call, 1}}
	}
	for _, name := range w.Flow {
		all = append(all, CallShare{name, 1})
	}
	for _, name := range slices.Sorted(maps.Keys(w.Mix)) {
		weight, _, _ := parseShare(w.Mix[name]) // check reports errors
		all = append(all, CallShare{name, weight})
	}
	return all
}

// CallerCount is how many processes share the load, at least 1.
func (c Config) CallerCount() int { return max(c.Callers, 1) }

// String is the channel as a clause: per-call, shared, pool of 4.
func (c Channel) String() string {
	if c.Mode == "pool" {
		return fmt.Sprintf("pool of %d", c.Pool)
	}
	return c.Mode
}

// expectedDuration is a lower bound on the duration of a trial's load.
func (c Config) expectedDuration() time.Duration {
	service := time.Millisecond
	if c.Workload.Greet != nil {
		service = max(service, c.Workload.Greet.Delay)
	}
	switch l := c.Load; {
	case l.Sequence > 0:
		return time.Duration(l.Sequence) * service
	case l.Closed != nil && l.Closed.Duration == 0:
		return time.Duration(l.Closed.Calls/l.Closed.Users+1) * (service + l.Closed.Think)
	case l.Search != nil:
		return 8 * l.Search.Duration // few searches have fewer probes, and each waits for its queued calls
	case l.Burst > 0:
		return service + time.Duration(l.Burst)*time.Millisecond/2 // the cost of a channel per call
	}
	return c.Load.duration()
}
