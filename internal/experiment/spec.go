// Package experiment reads an experiment document, says precisely what is wrong
// with it, and expands it to a [Plan]. It is pure: bytes in, values out.
//
// A document passes through these files, as experiment.go calls them:
//   - parse.go reads YAML into nodes (node.go), and place.go chooses how services run.
//   - quick.go, serviceoption.go and set.go change the document as the options say.
//   - resolve.go decodes it (decode.go) and merges the config of every arm in every cell (merge.go); check*.go check it.
//   - plan.go orders the trials.
//
// types.go and grammar.go read the fields of documents from the Go types; schema.go writes them as a JSON Schema.
package experiment

// The tags of these types define the language. The decoder, the JSON Schema, --set and the
// sweep all read them.
//
//	doc          description in the JSON Schema and in error messages
//	required     must be set (in a [Config]: after merging defaults, arm and cell)
//	default      value, in YAML, if the field is not set
//	min, max     bounds, inclusive; a duration is never negative
//	enum         allowed values, comma-separated; of a list, its elements
//	noun         what enum lists, for messages
//	vocabulary   the allowed values are in [Vocabulary]
//	slug         letters, digits and dashes, at most 40
//	alternative  one of several fields that exclude each other: setting one removes the others. Values other than true
//	             name groups, of which a document may set one each ([placeServer] leaves one)
//	key          holds the key of the record in its mapping
//	words        the record may also be one of these words
//	quick        --quick scales the value down (up, down: how to round), or makes it coarse

// Experiment is a question, its arms, a load, rounds and events.
type Experiment struct {
	Name          string         `yaml:"experiment" doc:"the experiment's name" required:"true" slug:"true"`
	Question      string         `yaml:"question" doc:"the question that the experiment answers, in one sentence" required:"true"`
	Source        string         `yaml:"source" doc:"the published study whose figures the report shows next to the measurements"`
	Defaults      Config         `yaml:"defaults" doc:"fields of every arm; an arm can override them"`
	Baseline      string         `yaml:"baseline" doc:"the arm to compare the other arms with (default: the first)"`
	Services      []Service      `yaml:"services" doc:"services of yours that arms call in place of rpclab's own servers, by name"`
	Arms          []Arm          `yaml:"arms" doc:"the arms to compare, by name" required:"true"`
	Sweep         []Axis         `yaml:"sweep" doc:"field paths and their values; each combination of values is a cell"`
	Headline      []string       `yaml:"headline" doc:"the metrics that answer the question, the most important first; the next is tested where the one before is settled (default: p50 and p99, or capacity for load.search)" noun:"metric" enum:"failed,followed,p50,p90,p99,p999,mean,elapsed,balance,convergence,capacity,rate,client_cpu,server_cpu,proxy_cpu,gateway_cpu,client_memory,server_memory,proxy_memory,gateway_memory"`
	Rounds        int            `yaml:"rounds" doc:"number of rounds; each measures every arm once in every cell" min:"1" max:"1000" default:"10"`
	Design        string         `yaml:"design" doc:"how arms are measured: isolated (one trial after another), interleaved (all arms stay warm and take turns in short blocks) or side-by-side (two arms at the same time)" enum:"isolated,interleaved,side-by-side" default:"isolated"`
	Margin        Percent        `yaml:"margin" doc:"the largest difference that does not matter: arms within the margin are equivalent" min:"0.1%" max:"50%" default:"3%"`
	Events        []Event        `yaml:"events" doc:"changes and faults that rpclab applies to the cluster during the load"`
	Confounds     []Confound     `yaml:"confounds" doc:"known confounds: other differences between a published arm and a controlled arm"`
	Published     []Published    `yaml:"published" doc:"figures of the published study, to show next to the measurements"`
	PublishedSize string         `yaml:"published_size" doc:"the load behind the published figures, if the experiment runs a smaller one"`
	Scale         map[string]any `yaml:"scale" doc:"fields with their values in the published study; --scale F multiplies each by F"`
	Quick         []Setting      `yaml:"quick" doc:"assignments that --quick applies to scale the experiment down"`
}

// Arm is one configuration under comparison. Fields that it sets override the defaults.
type Arm struct {
	Name      string `yaml:"-" key:"true"`
	Published string `yaml:"published" doc:"the name of this arm in the published study; rpclab measures the arm as published"`
	Control   string `yaml:"control" doc:"the arm that this arm repeats, to show the differences that chance produces (A/A control)"`
	Against   string `yaml:"against" doc:"the arm to compare this arm with (default: the baseline)"`
	Describe  string `yaml:"describe" doc:"how the calls of this arm reach the backends, in one clause"`
	Config    `yaml:",inline"`
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

// Confound names another difference between a published arm and a controlled arm.
type Confound struct {
	Published  string `yaml:"published" doc:"the arm as published" required:"true"`
	Controlled string `yaml:"controlled" doc:"the arm without the other difference" required:"true"`
	What       string `yaml:"what" doc:"the other difference, in one sentence" required:"true"`
}

// Published is one figure of the published study.
type Published struct {
	Arm       string         `yaml:"arm" doc:"name of the arm" required:"true"`
	Cell      map[string]any `yaml:"cell" doc:"cell of the sweep: field paths and values"`
	ElapsedMS float64        `yaml:"elapsed_ms" doc:"milliseconds from the start of the load to the last response"`
	Rate      float64        `yaml:"rate" doc:"calls per second"`
	Mean      float64        `yaml:"mean_ms" doc:"mean latency in milliseconds"`
	P95       float64        `yaml:"p95_ms" doc:"95th percentile of the latency in milliseconds"`
	RSS       float64        `yaml:"rss_mb" doc:"memory of one server in megabytes"`
	Note      string         `yaml:"note" doc:"remark of the study about this figure"`
}
