// Package experiment reads an experiment document, says precisely what is wrong
// with it, and expands it to a [Plan]. It is pure: bytes in, values out.
package experiment

import "time"

// The tags of these types are the one description of the language: the decoder,
// the JSON Schema, --set and the sweep all read them.
//
//	doc          one clause for the reader of the schema
//	required     must be given (in a [Config]: once defaults, arm and cell are merged)
//	default      in YAML, taken when the field is not given
//	min, max     bounds, inclusive; a duration is never negative
//	enum         the words allowed, comma-separated
//	vocabulary   the words allowed are those of [Vocabulary]
//	slug         letters, digits and dashes, at most 40
//	alternative  one of several that exclude each other: setting one drops the rest
//	key          holds the name under which the record stands in its mapping
//	words        the record may also be written as one of these words
//	quick        --quick may make it smaller (up, down: how durations are rounded), or coarser

// Experiment is a question, its arms, a load, rounds and events.
type Experiment struct {
	Name      string         `yaml:"experiment" doc:"the experiment's name" required:"true" slug:"true"`
	Question  string         `yaml:"question" doc:"what it answers, in one sentence" required:"true"`
	Source    string         `yaml:"source" doc:"the study whose figures are printed beside ours"`
	Defaults  Config         `yaml:"defaults" doc:"what every arm has unless it says otherwise"`
	Baseline  string         `yaml:"baseline" doc:"the arm that the others are compared with (default: the first)"`
	Arms      []Arm          `yaml:"arms" doc:"the ways compared, by name" required:"true"`
	Sweep     []Axis         `yaml:"sweep" doc:"field path to the values it takes; every combination is a cell"`
	Rounds    int            `yaml:"rounds" doc:"how often every arm is measured in every cell" min:"1" max:"1000" default:"10"`
	Margin    Percent        `yaml:"margin" doc:"the difference that is not worth a call: arms within it are equivalent" min:"0.1%" max:"50%" default:"3%"`
	Events    []Event        `yaml:"events" doc:"what is done to the cluster while calls run"`
	Confounds []Confound     `yaml:"confounds" doc:"what else differs between a published arm and the controlled one"`
	Published []Published    `yaml:"published" doc:"the study's figures: facts to print beside ours"`
	Size      string         `yaml:"published_size" doc:"what the study's figures are of, where the experiment makes less: such figures stand beside every run"`
	Scale     map[string]any `yaml:"scale" doc:"fields as large as the study has them; --scale F makes each so much of that"`
	Quick     []Setting      `yaml:"quick" doc:"--set assignments that make the whole experiment small (--quick)"`
}

// Arm is one way; everything in Config that it sets overrides the defaults.
type Arm struct {
	Name      string `yaml:"-" key:"true"`
	Published string `yaml:"published" doc:"the study's own name for this arm: it is measured as published"`
	Control   string `yaml:"control" doc:"the arm that this one repeats, to show what chance alone does (A/A)"`
	Against   string `yaml:"against" doc:"the arm that this one is compared with, which is itself compared with none (default: the baseline)"`
	Describe  string `yaml:"describe" doc:"one clause on how its calls travel"`
	Config    `yaml:",inline"`
}

// Config is everything an arm can choose.
type Config struct {
	Workload Workload `yaml:"workload" doc:"what a call does" required:"true"`
	Server   Server   `yaml:"server" doc:"who answers"`
	Caller   Caller   `yaml:"caller" doc:"who calls, and over which channels"`
	Gateway  *Gateway `yaml:"gateway" doc:"an HTTP gateway that makes the calls for the caller, as in study 1"`
	Route    string   `yaml:"route" doc:"how a call finds a backend" vocabulary:"routes" required:"true"`
	Policy   string   `yaml:"policy" doc:"how the route spreads calls over backends (default: the route's own)" vocabulary:"policies"`
	Outlier  *Outlier `yaml:"outlier" doc:"backends that fail are left out for a while, by routes that can"`
	Proxy    *Proxy   `yaml:"proxy" doc:"how the proxy of a route that has one stands"`
	Load     Load     `yaml:"load" doc:"when calls are due" required:"true"`
	Callers  int      `yaml:"callers" doc:"processes that share the load; each has its sidecar where proxies stand as such (default: one)" min:"1" max:"64"`
}

// Workload is exactly one of its fields.
type Workload struct {
	Greet     *Greet     `yaml:"greet" doc:"Greeter/SayHello, answered after a delay" alternative:"true"`
	Fibonacci *Fibonacci `yaml:"fibonacci" doc:"Fibonacci/Compute, which takes processor time" alternative:"true"`
	Increment bool       `yaml:"increment" doc:"Counter/Increment, a counter in every backend" alternative:"true"`
	Increase  bool       `yaml:"increase" doc:"Chain/Increase, the number after the one that is given" alternative:"true"`
	Orders    *Orders    `yaml:"orders" doc:"OrderService/PlaceOrder, answered after a wait" alternative:"true"`
	Calculate *Calculate `yaml:"calculate" doc:"CalculatorService, the same calculation in every call" alternative:"true"`
}

// Orders is the workload of study 5.
type Orders struct {
	Delay    time.Duration `yaml:"delay" doc:"how long the server waits before it answers" max:"1m" default:"200ms"`
	Spread   time.Duration `yaml:"spread" doc:"up to how much longer it waits, drawn anew for each" max:"1m" default:"299ms"`
	Articles int           `yaml:"articles" doc:"in an order" min:"0" max:"100000" default:"1000"`
}

// Fibonacci is a workload of study 1: the n-th number, n taken in turn from From to To.
type Fibonacci struct {
	From int `yaml:"from" doc:"the first n" min:"0" max:"100000" default:"800"`
	To   int `yaml:"to" doc:"the last n" min:"0" max:"100000" default:"1000"`
}

// Greet is the workload of study 2.
type Greet struct {
	Delay   time.Duration `yaml:"delay" doc:"how long the server waits before it answers" max:"1m"`
	Workers int           `yaml:"workers" doc:"calls that a backend waits for at once, while others queue (default: all)" min:"1" max:"1000000"`
}

// Server is the program under test.
type Server struct {
	Language string        `yaml:"language" doc:"what it is written in" vocabulary:"languages" default:"go"`
	Model    string        `yaml:"model" doc:"how it is built: grpc, rest, … (default: the language's first)"`
	Replicas int           `yaml:"replicas" doc:"how many backends" min:"1" max:"250" default:"3"`
	Fresh    bool          `yaml:"fresh" doc:"new processes for every trial; false: kept while the server's settings stay" default:"true"`
	Drain    time.Duration `yaml:"drain" doc:"how long a backend that is told to stop still accepts calls" max:"1m"`
	Workers  int           `yaml:"workers" doc:"calls that a backend works on at once, while others queue (default: all)" min:"1" max:"1000000"`
	MaxAge   time.Duration `yaml:"max_age" doc:"after this, some 10 % at random more or less, a connection is told to go (MAX_CONNECTION_AGE; default: never)" max:"1h"`
	AgeGrace time.Duration `yaml:"age_grace" doc:"how long its calls may go on then (MAX_CONNECTION_AGE_GRACE; default: as long as they take)" max:"1h"`
	CPUs     float64       `yaml:"cpus" doc:"processors that a backend may use (default: all there are)" min:"0.01" max:"256"`
	Memory   Bytes         `yaml:"memory" doc:"memory that a backend may use, such as 1.5Gi (default: all there is)" min:"8Mi" max:"1Ti"`
	Security string        `yaml:"security" doc:"of connections to a calculator: none (as by default); tls: the server shows who it is; mtls: and so does the client" enum:"none,tls,mtls"`
	Zones    int           `yaml:"zones" doc:"zones that backends are dealt out to in turn; callers are in the first (default: one zone)" min:"1" max:"10"`
}

// Caller is the client under test.
type Caller struct {
	Kind     string        `yaml:"kind" doc:"the client library" vocabulary:"callers" default:"grpc-go"`
	Channel  Channel       `yaml:"channel" doc:"per-call, per-user, shared, or {pool: N}" default:"shared"`
	Timeout  time.Duration `yaml:"timeout" doc:"deadline of a call" min:"1ms" max:"1h" default:"30s"`
	Warmup   int           `yaml:"warmup" doc:"calls made at once before the clock starts, not counted" min:"0" max:"100000" default:"30"`
	Late     time.Duration `yaml:"late" doc:"an answer later than this after it was due counts as late (default: 100ms)" max:"1h"`
	Retry    *Retry        `yaml:"retry" doc:"failed calls are tried again (gRFC A6)"`
	Hedge    *Hedge        `yaml:"hedge" doc:"calls that take long are made once more beside (gRFC A6)"`
	Compress bool          `yaml:"compress" doc:"requests are compressed with gzip, and so are their answers"`
	Stream   *Stream       `yaml:"stream" doc:"calls are messages on streams that stay open, and not unary"`
	Style    string        `yaml:"style" doc:"of calculations: bidi, over two-way streams; unary-stream: unary calls whose answers come over a stream" enum:"bidi,unary-stream"`
	Streams  int           `yaml:"streams" doc:"two-way streams that calculations take in turn (default: one)" min:"1" max:"1000"`
	Ahead    string        `yaml:"ahead" doc:"when a user goes on, other than when a calculation is answered: taken, when its unary call returns; sent, before that" enum:"taken,sent"`
	JWT      string        `yaml:"jwt" doc:"tokens of calculations, which the server checks: none (as by default); once: one for all; every: one for each call, of which a stream is one" enum:"none,once,every"`
	Signing  bool          `yaml:"signing" doc:"every calculation and every answer is signed (CMS) and verified"`
	Metadata int           `yaml:"metadata" doc:"further keys and values of 32 bytes with every call of a calculator" min:"0" max:"100"`
}

// Channel is how calls share channels: per-call, shared or a pool of N.
type Channel struct {
	Mode string `yaml:"-" words:"per-call,per-user,shared"` // or pool
	Pool int    `yaml:"pool" doc:"that many channels, taken in turn" min:"1" max:"10000" required:"true"`
}

// Load is exactly one of its fields.
type Load struct {
	Sequence int     `yaml:"sequence" doc:"N calls, each due when the one before it is answered" min:"1" max:"100000000" alternative:"true" quick:"down"`
	Burst    int     `yaml:"burst" doc:"N calls, all due at once" min:"1" max:"1000000" alternative:"true" quick:"down"`
	Closed   *Closed `yaml:"closed" doc:"virtual users, each with one call at a time" alternative:"true"`
	Open     *Open   `yaml:"open" doc:"calls due at a rate, whatever the answers do" alternative:"true"`
	Search   *Search `yaml:"search" doc:"open loops that look for the highest rate at which a condition holds" alternative:"true"`
}

// Closed ends after Duration or Calls, whichever is set and comes first.
type Closed struct {
	Users    int           `yaml:"users" doc:"virtual users" min:"1" max:"1000000" required:"true"`
	Ramp     time.Duration `yaml:"ramp" doc:"over which users begin, evenly (default: all at once)" max:"24h"`
	Think    time.Duration `yaml:"think" doc:"pause of a user between answer and next call" max:"1h"`
	Duration time.Duration `yaml:"duration" doc:"no call is due after this" max:"24h" quick:"up"`
	Calls    int           `yaml:"calls" doc:"no more calls than this" min:"1" max:"1000000000" quick:"down"`
}

// Open is an open loop.
type Open struct {
	Rate        float64       `yaml:"rate" doc:"calls due per second" min:"0.001" max:"10000000" required:"true"`
	Arrivals    string        `yaml:"arrivals" doc:"constant or poisson" enum:"constant,poisson" default:"constant"`
	Duration    time.Duration `yaml:"duration" doc:"no call is due after this" min:"1ms" max:"24h" required:"true" quick:"up"`
	MaxInFlight int           `yaml:"max_in_flight" doc:"a call due beyond this many is counted as dropped" min:"1" max:"1000000" default:"10000"`
}

// Percent is a share: 2 is 2 %.
type Percent float64

// Search is open loops, one after another, that look for the highest rate at which SLO
// holds.
type Search struct {
	SLO         string        `yaml:"slo" doc:"the condition, as for --assert: p99 < 50ms and errors < 0.1%; dropped calls are errors too" required:"true"`
	From        float64       `yaml:"from" doc:"the lowest rate, in calls per second" min:"0.001" max:"10000000" required:"true"`
	To          float64       `yaml:"to" doc:"the highest rate, in calls per second" min:"0.001" max:"10000000" required:"true"`
	Precision   Percent       `yaml:"precision" doc:"how far the rate that holds and the one that fails may be apart" min:"0.1%" max:"50%" default:"2%" quick:"coarse"`
	Duration    time.Duration `yaml:"duration" doc:"of a rate that counts; the first tries take a quarter" min:"1ms" max:"1h" required:"true" quick:"up"`
	Arrivals    string        `yaml:"arrivals" doc:"constant or poisson" enum:"constant,poisson" default:"constant"`
	MaxInFlight int           `yaml:"max_in_flight" doc:"a call due beyond this many is counted as dropped" min:"1" max:"1000000" default:"10000"`
}

// Axis is one field of the sweep and the values it takes.
type Axis struct {
	Path   string
	Values []any
}

// Setting is one field path and its value.
type Setting struct {
	Path  string
	Value any
}

// Confound names what else differs between a published arm and the controlled one.
type Confound struct {
	Published  string `yaml:"published" doc:"the arm as published" required:"true"`
	Controlled string `yaml:"controlled" doc:"the arm without the confound" required:"true"`
	What       string `yaml:"what" doc:"what else differs, in one sentence" required:"true"`
}

// Published is one figure of the study.
type Published struct {
	Arm       string         `yaml:"arm" doc:"an arm" required:"true"`
	Cell      map[string]any `yaml:"cell" doc:"where: field path to value"`
	ElapsedMS float64        `yaml:"elapsed_ms" doc:"start of the load to the last answer"`
	Rate      float64        `yaml:"rate" doc:"calls per second"`
	P95       float64        `yaml:"p95_ms" doc:"of the latency"`
	RSS       float64        `yaml:"rss_mb" doc:"memory of a server, in megabytes"`
	Note      string         `yaml:"note" doc:"what the study said instead of, or beside, a number"`
}
