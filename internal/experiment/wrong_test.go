package experiment

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestErrorsOfInvalidDocuments(t *testing.T) {
	for name, tc := range map[string]struct {
		doc  string
		want []string
	}{
		"empty":         {"", []string{"x.yaml: the file is empty; an experiment begins with `experiment: NAME`"}},
		"only comments": {"# nothing\n", []string{"x.yaml: the file is empty; an experiment begins with `experiment: NAME`"}},
		"not a mapping": {"5\n", []string{"x.yaml:1:1: the experiment must be a mapping with fields such as experiment, not 5"}},
		"no required field": {"rounds: 3\n", []string{
			"x.yaml:1:1: the experiment needs arms (the arms to compare, by name)",
			"x.yaml:1:1: the experiment needs experiment (the experiment's name)",
			"x.yaml:1:1: the experiment needs question (the question that the experiment answers, in one sentence)",
		}},
		"two documents": {head + "---\nrounds: 3\n", []string{"x.yaml:6:1: a second document begins here; a file can contain only one experiment"}},

		"syntax: list not closed":  {head + "events: [1, 2\nsource: y\n", []string{"x.yaml:6: not YAML: did not find expected ',' or ']'"}},
		"syntax: wrong indent":     {head + "quick:\n  rounds: 1\n rounds: 2\n", []string{"x.yaml:8: not YAML: did not find expected key"}},
		"syntax: tab":              {head + "\tsource: y\n", []string{"x.yaml:6: not YAML: found a tab character that violates indentation"}},
		"syntax: colon in a text":  {head + "source: y: z\n", []string{"x.yaml:6: not YAML: mapping values are not allowed in this context"}},
		"syntax: not UTF-8":        {head + "source: \xff\n", []string{"x.yaml:6: not YAML: invalid leading UTF-8 octet"}},
		"syntax: quote left open":  {head + "source: \"y\n", []string{"x.yaml:6: not YAML: found unexpected end of stream"}},
		"syntax: unknown alias":    {head + "source: *y\n", []string{"x.yaml:6: not YAML: unknown anchor 'y' referenced"}},
		"anchor and alias":         {head + "source: &s y\nbaseline: *s\n", []string{"x.yaml:6:9: anchors (&) and aliases (*) are not supported: write the value out", "x.yaml:7:11: anchors (&) and aliases (*) are not supported: write the value out"}},
		"merge key":                {head + "quick: {<<: {rounds: 1}}\n", []string{"x.yaml:6:9: merge keys (<<) are not supported: write the fields out"}},
		"tag":                      {head + "source: !secret y\n", []string{"x.yaml:6:9: the tag !secret is not supported"}},
		"a mapping as a name":      {head + "? {a: b}\n: c\n", []string{"x.yaml:6:3: the name of a field must be text"}},
		"deep":                     {head + "events: " + strings.Repeat("[", 40) + strings.Repeat("]", 40) + "\n", []string{"x.yaml:6:25: nested more than 16 deep"}},
		"unknown field, none near": {head + "zzz: 1\n", []string{`x.yaml:6:1: unknown field "zzz"; known names: experiment, question, source, defaults, baseline, services, arms, sweep, headline, rounds, design, margin, events, confounds, published, published_size, scale, quick`}},
		"unknown field":            {head + "basline: a\n", []string{`x.yaml:6:1: unknown field "basline"; did you mean "baseline"?`}},
		"unknown field in defaults": {strings.Replace(head, " load:", " server: {replcas: 2}, load:", 1),
			[]string{`x.yaml:3:72: unknown field "replcas" in server; did you mean "replicas"?`}},
		"unknown field in an arm":   {strings.Replace(head, "a: {}", "a: {rout: direct}", 1), []string{`x.yaml:4:12: unknown field "rout" in arm a; did you mean "route"?`}},
		"unknown field in an event": {withHead("events: [{at: 1s, kil: 1}]"), []string{"x.yaml:6:10: event needs scale, stop, kill, pause, resume, slow, fail, flap, roll, roll_to, cut, drain, cordon, dns, recover, kill_proxy or kill_control", `x.yaml:6:19: unknown field "kil" in event; did you mean "kill"?`}},

		"an unknown metric":            {withHead("headline: [p50, p98]"), []string{`x.yaml:6:17: no metric "p98"; did you mean "p90"?`}},
		"a metric twice":               {withHead("headline: [p50, p99, p50]"), []string{"x.yaml:6:22: headline contains p50 twice"}},
		"no metric":                    {withHead("headline: []"), []string{"x.yaml:6:11: headline is empty: list the metrics that answer the question, or remove it"}},
		"a metric that is no list":     {withHead("headline: p50"), []string{"x.yaml:6:11: headline must be a list, not \"p50\""}},
		"a metric of missing events":   {withHead("headline: [followed]"), []string{"x.yaml:6:12: headline followed is the time until calls reach new backends, but no event adds a backend: add an event such as {at: 5s, scale: 10}, or remove followed"}},
		"balanced again after nothing": {withHead("headline: [convergence]"), []string{"x.yaml:6:12: headline convergence is the time until calls are balanced again after an event, but there are no events: remove convergence"}},

		"a policy on a route without policies": {strings.Replace(head, "a: {}", "a: {policy: least_request}", 1),
			[]string{"x.yaml:4:20: route clusterip has no choice of policies: remove policy, or use the route headless"}},
		"a policy that the route lacks": {strings.Replace(head, "{route: headless", "{policy: pick_first, route: headless", 1),
			[]string{`x.yaml:4:27: route headless has no policy pick_first; known names: round_robin, least_request`}},
		"a policy that no route has": {strings.Replace(head, "a: {}", "a: {policy: least_conn}", 1), []string{`x.yaml:4:20: no policy "least_conn"; known names: round_robin, least_request, pick_first`}},
		"outlier on a route without it": {strings.Replace(head, "a: {}", "a: {outlier: {}}", 1),
			[]string{"x.yaml:4:21: route clusterip does not support outlier detection: use the route headless or endpointslice"}},
		"retry and hedge": {strings.Replace(head, "a: {}", "a: {caller: {retry: {}, hedge: {}}}", 1), []string{"x.yaml:4:39: caller accepts only one of retry and hedge"}},
		"retry where a control plane decides": {strings.Replace(head, "a: {}", "a: {route: istio-xds, caller: {retry: {}}}", 1),
			[]string{"x.yaml:4:46: on route istio-xds the control plane sends clients their retries: remove caller.retry, or use another route"}},
		"a basic caller on a route that needs a full client": {strings.Replace(head, "{route: headless", "{caller: {kind: wire}, route: kuberesolver", 1),
			[]string{"x.yaml:4:48: the caller wire does not support the route kuberesolver: use the caller grpc-go"}},
		"a basic caller that retries": {strings.Replace(head, "a: {}", "a: {caller: {kind: wire, retry: {}}}", 1), []string{"x.yaml:4:40: the caller wire does not support retry: use the caller grpc-go"}},
		"a basic caller that hedges":  {strings.Replace(head, "a: {}", "a: {caller: {kind: wire, hedge: {}}}", 1), []string{"x.yaml:4:40: the caller wire does not support hedge: use the caller grpc-go"}},
		"a basic caller that streams": {strings.Replace(head, "a: {}", "a: {caller: {kind: wire, stream: {}}}", 1), []string{"x.yaml:4:41: the caller wire does not support stream: use the caller grpc-go"}},
		"a basic caller with outlier detection": {strings.Replace(head, "{route: headless", "{caller: {kind: wire}, outlier: {}, route: headless", 1),
			[]string{"x.yaml:4:50: the caller wire does not support outlier detection: use the caller grpc-go"}},
		"a basic caller with a policy": {strings.Replace(head, "{route: headless", "{caller: {kind: wire}, policy: least_request, route: headless", 1),
			[]string{"x.yaml:4:49: the caller wire does not support the policy least_request: use the caller grpc-go"}},
		"a stream that increments": {strings.Replace(head, "a: {}", "a: {workload: {increment: true}, caller: {stream: {}}}", 1), []string{"x.yaml:4:58: stream supports only the workloads greet and increase: set one of them"}},
		"a channel per user without users": {strings.Replace(head, "a: {}", "a: {caller: {channel: per-user}}", 1),
			[]string{"x.yaml:4:30: a channel per user needs users: set load.closed, or set caller.channel to shared or per-call"}},
		"a channel per user of a caller without support": {strings.Replace(head, "a: {}", "a: {server: {model: tcp}, workload: {increase: true}, route: direct, caller: {kind: tcp, channel: per-user}, load: {closed: {users: 2, calls: 3}}}", 1),
			[]string{"x.yaml:4:106: the caller tcp does not support a channel per user: use the caller grpc-go"}},
		"a stream for each call": {strings.Replace(head, "a: {}", "a: {caller: {stream: {}, channel: per-call}}", 1),
			[]string{"x.yaml:4:29: stream cannot be used with a channel per call: set caller.channel to shared or a pool"}},
		"a stream that hedges": {strings.Replace(head, "a: {}", "a: {caller: {stream: {}, hedge: {}}}", 1), []string{"x.yaml:4:40: hedge cannot be used with stream: remove one of them"}},
		"an unknown status code": {strings.Replace(head, "a: {}", "a: {caller: {retry: {codes: [UNAVAILBLE]}}}", 1),
			[]string{`x.yaml:4:28: caller.retry.codes: rpclab cannot retry "UNAVAILBLE"; did you mean "UNAVAILABLE"?`}},
		"grace without age": {strings.Replace(head, "a: {}", "a: {server: {age_grace: 1s}}", 1),
			[]string{"x.yaml:4:32: server.age_grace needs server.max_age"}},
		"a gateway without an HTTP caller":      {strings.Replace(head, "a: {}", "a: {workload: {fibonacci: {}}, gateway: {}}", 1), []string{"x.yaml:4:48: a gateway needs an HTTP caller: set caller.kind to http"}},
		"an HTTP caller without a gateway":      {strings.Replace(head, "a: {}", "a: {caller: {kind: http}}", 1), []string{"x.yaml:4:27: the caller http needs a gateway or a REST server: set gateway or server.model"}},
		"an unknown model":                      {strings.Replace(head, "a: {}", "a: {server: {model: rst}}", 1), []string{`x.yaml:4:28: servers in go have no model rst; did you mean "rest"?: use grpc, rest, rest-1 or tcp`}},
		"gRPC to a REST server":                 {strings.Replace(head, "a: {}", "a: {server: {model: rest}}", 1), []string{"x.yaml:4:28: a server of model rest speaks REST, but its caller speaks gRPC: set caller.kind to http"}},
		"a counter over REST":                   {strings.Replace(head, "a: {}", "a: {server: {model: rest}, caller: {kind: http}, workload: {increment: true}}", 1), []string{"x.yaml:4:67: only gRPC servers support increment: use another workload or another server.model"}},
		"a heap of Go":                          {strings.Replace(head, "a: {}", "a: {server: {heap: 64Mi}}", 1), []string{"x.yaml:4:27: server.heap is of a JVM, and the servers are in go: remove it, or set server.language to java"}},
		"another API of a greeter":              {strings.Replace(head, "a: {}", "a: {server: {api: v2}}", 1), []string{"x.yaml:4:26: server.api needs gRPC or REST servers in go and the workload increase"}},
		"another API without a rollout":         {strings.Replace(head, "a: {}", "a: {workload: {increase: true}, server: {next_api: v2}}", 1), []string{"x.yaml:4:59: server.next_api needs the event roll, which starts these backends: add {at: 2s, roll: true} to events"}},
		"HTTP/2 of gRPC":                        {strings.Replace(head, "a: {}", "a: {caller: {http2: true}}", 1), []string{"x.yaml:4:28: the caller grpc-go does not support http2: use the caller http without a gateway"}},
		"HTTP/2 to a server of HTTP/1.1":        {strings.Replace(head, "a: {}", "a: {server: {model: rest-1}, caller: {kind: http, http2: true}}", 1), []string{"x.yaml:4:65: a server of model rest-1 in go answers only HTTP/1.1: remove caller.http2, or use another server.model"}},
		"HTTP/2 through a proxy of HTTP/1.1":    {strings.Replace(head, "a: {}", "a: {route: envoy, server: {model: rest}, caller: {kind: http, http2: true}}", 1), []string{"x.yaml:4:77: the proxy of route envoy speaks HTTP/1.1: remove caller.http2, or use the route direct or clusterip"}},
		"a greeting over TCP":                   {strings.Replace(head, "a: {}", "a: {server: {model: tcp}, caller: {kind: tcp}}", 1), []string{"x.yaml:3:22: a TCP server supports only the workload increase: set workload to increase: true"}},
		"REST by names":                         {strings.Replace(head, "{route: headless}", "{route: headless, server: {model: rest}, caller: {kind: http}}", 1), []string{"x.yaml:4:26: route headless does not support REST: use the route direct, clusterip or envoy"}},
		"a ramp without an end":                 {strings.Replace(head, "burst: 5", "closed: {users: 9, ramp: 5s, duration: 5s}", 1), []string{"x.yaml:3:95: load.closed.ramp, 5s, must be shorter than duration, 5s, or some users never start"}},
		"a gateway in Python on a route for Go": {strings.Replace(head, "a: {}", "a: {caller: {kind: http}, workload: {increment: true}, gateway: {language: python}, route: endpointslice}", 1), []string{"x.yaml:4:83: only a gateway in go supports the route endpointslice: remove gateway.language, or use another route"}},
		"a gateway that greets":                 {strings.Replace(head, "a: {}", "a: {caller: {kind: http}, gateway: {}}", 1), []string{"x.yaml:4:43: a gateway supports only the workloads fibonacci and increment: set one of them"}},
		"an empty range of fibonacci": {strings.Replace(head, "a: {}", "a: {workload: {fibonacci: {from: 9, to: 8}}}", 1),
			[]string{"x.yaml:4:34: workload.fibonacci: from is 9, more than to, 8"}},
		"a sequence of several callers": {strings.Replace(head, "a: {}", "a: {callers: 2, load: {sequence: 9}}", 1),
			[]string{"x.yaml:4:41: 2 callers cannot share a sequence, which makes one call at a time: use load.closed, or remove callers"}},
		"more callers than calls": {strings.Replace(head, "a: {}", "a: {callers: 6}", 1), []string{"x.yaml:3:77: load.burst is 5, less than one for each of 6 callers: increase it, or decrease callers"}},
		"more callers than users": {strings.Replace(head, "a: {}", "a: {callers: 3, load: {closed: {users: 2, calls: 1}}}", 1),
			[]string{
				"x.yaml:4:47: load.closed.users is 2, less than one for each of 3 callers: increase it, or decrease callers",
				"x.yaml:4:57: load.closed.calls is 1, less than one for each of 2 users of 3 callers: increase it, or remove callers",
			}},
		"warm-up of a caller in python": {strings.Replace(head, "a: {}", "a: {caller: {kind: python, warmup_max: 5s}}", 1),
			[]string{"x.yaml:4:47: the caller python does not support warmup_max: remove it, or use a caller in go"}},
		"random arrivals of a caller in python": {strings.Replace(head, "a: {}", "a: {caller: {kind: python}, load: {open: {rate: 9, duration: 1s, arrivals: poisson}}}", 1),
			[]string{"x.yaml:4:83: the caller python does not support random arrivals: remove it, or use a caller in go"}},
		"calls in flight of a caller in python": {strings.Replace(head, "a: {}", "a: {caller: {kind: python}, load: {open: {rate: 9, duration: 1s, max_in_flight: 5}}}", 1),
			[]string{"x.yaml:4:88: the caller python does not limit calls in flight: remove it, or use a caller in go"}},
		"burst on the streams of a caller in python": {strings.Replace(head, "a: {}", "a: {caller: {kind: python, stream: {}}}", 1),
			[]string{"x.yaml:4:43: the caller python sends a message after the response to the last one: set load.sequence or load.closed, or use a caller in go"}},
		"open load on the streams of a caller in python": {strings.Replace(head, "a: {}", "a: {caller: {kind: python, stream: {}}, load: {open: {rate: 9, duration: 1s}}}", 1),
			[]string{"x.yaml:4:43: the caller python sends a message after the response to the last one: set load.sequence or load.closed, or use a caller in go"}},
		"caller in python on a route for Go": {strings.Replace(head, "a: {}", "a: {caller: {kind: python}, route: endpointslice}", 1),
			[]string{"x.yaml:4:43: only callers in go support the route endpointslice: use direct, headless, or a route with a proxy"}},
		"pool of a caller in python": {strings.Replace(head, "a: {}", "a: {caller: {kind: python, channel: {pool: 2}}}", 1),
			[]string{"x.yaml:4:44: the caller python does not support a pool of channels: use shared or per-call"}},
		"search of a caller in python": {strings.Replace(searching("{slo: p99 < 5ms, from: 1, to: 9, duration: 1s}"), "a: {}", "a: {caller: {kind: python}}", 1),
			[]string{"x.yaml:3:78: the caller python does not support load.search: use a caller in go"}},
		"more callers than calls in flight": {strings.Replace(head, "a: {}", "a: {callers: 3, load: {open: {rate: 9, duration: 1s, max_in_flight: 2}}}", 1),
			[]string{"x.yaml:4:76: load.open.max_in_flight is 2, less than one for each of 3 callers: increase it, or decrease callers"}},
		"more callers than calls of a rate": {strings.Replace(head, "a: {}", "a: {callers: 3, load: {open: {rate: 1, duration: 2s}}}", 1),
			[]string{"x.yaml:4:44: 2 calls are due in load.open.duration, less than one for each of 3 callers: increase the rate or the duration, or decrease callers"}},
		"slow in two ways": {withHead("events: [{at: 1s, slow: {backends: 1, by: 1s, times: 2}}]"), []string{"x.yaml:6:25: slow accepts only one of by and times"}},

		"duplicate field": {head + "rounds: 3\n", []string{`x.yaml:6:1: field "rounds" appears twice; the first is at line 5`}},
		"duplicate arm":   {strings.Replace(head, "b: {route", "a: {route", 1), []string{`x.yaml:4:15: duplicate arm "a"; the first is at line 4`}},
		"name of an arm":  {strings.Replace(head, "b: {route", "b_2: {route", 1), []string{`x.yaml:4:15: arm name "b_2": use letters, digits and dashes, at most 40`}},
		"no arms":         {strings.Replace(head, "{a: {}, b: {route: headless}}", "{}", 1), []string{"x.yaml:4:7: arms must be a mapping of names to settings, not an empty mapping"}},
		"arms as a list":  {strings.Replace(head, "{a: {}, b: {route: headless}}", "[a, b]", 1), []string{"x.yaml:4:7: arms must be a mapping of names to settings, not a list"}},

		"rounds: 0":         {strings.Replace(head, "rounds: 2", "rounds: 0", 1), []string{"x.yaml:5:9: rounds must be 1 to 1000, not 0"}},
		"rounds: 1.5":       {strings.Replace(head, "rounds: 2", "rounds: 1.5", 1), []string{"x.yaml:5:9: rounds must be a whole number, not 1.5"}},
		"rounds: many":      {strings.Replace(head, "rounds: 2", "rounds: many", 1), []string{`x.yaml:5:9: rounds must be a whole number, not "many"`}},
		"rounds: huge":      {strings.Replace(head, "rounds: 2", "rounds: 99999999999999999999", 1), []string{"x.yaml:5:9: rounds must be 1 to 1000, not 99999999999999999999"}},
		"rounds: not given": {strings.Replace(head, "rounds: 2", "rounds:", 1), []string{"x.yaml:5:8: rounds must be a whole number, not empty"}},
		"no unit":           {strings.Replace(head, "1ms", "500", 1), []string{`x.yaml:3:38: "500" has no unit: use a duration such as 500ms or 2s`}},
		"wrong unit":        {strings.Replace(head, "1ms", "5 sec", 1), []string{`x.yaml:3:38: workload.greet.delay must be a duration such as 500ms or 2s, not "5 sec"`}},
		"too long":          {strings.Replace(head, "1ms", "2h", 1), []string{"x.yaml:3:38: workload.greet.delay must be 0s to 1m, not 2h"}},
		"negative":          {strings.Replace(head, "1ms", "-2s", 1), []string{"x.yaml:3:38: workload.greet.delay must be 0s to 1m, not -2s"}},
		"number as text":    {strings.Replace(head, "question: Which?", "question: 5", 1), []string{"x.yaml:2:11: question must be text, not 5: put it in quotes"}},
		"yes for true":      {strings.Replace(head, " load:", " server: {fresh: yes}, load:", 1), []string{`x.yaml:3:79: server.fresh must be true or false, not "yes"`}},
		"rate: nan":         {strings.Replace(head, "burst: 5", "open: {rate: .nan, duration: 1s}", 1), []string{"x.yaml:3:83: load.open.rate must be a number, not .nan"}},
		"rate: inf":         {strings.Replace(head, "burst: 5", "open: {rate: .inf, duration: 1s}", 1), []string{"x.yaml:3:83: load.open.rate must be 0.001 to 10000000, not .inf"}},

		"unknown route":       {strings.Replace(head, "route: headless", "route: headles", 1), []string{`x.yaml:4:26: no route "headles"; did you mean "headless"?`}},
		"route, none near":    {strings.Replace(head, "route: headless", "route: pigeon", 1), []string{`x.yaml:4:26: no route "pigeon"; known names: direct, clusterip, headless, endpointslice, kuberesolver, envoy, istio-xds`}},
		"unknown arrivals":    {strings.Replace(head, "burst: 5", "open: {rate: 1, duration: 1s, arrivals: poison}", 1), []string{`x.yaml:3:110: load.open.arrivals must be constant or poisson, not "poison"; did you mean "poisson"?`}},
		"unknown channel":     {strings.Replace(head, "b: {", "b: {caller: {channel: sharde}, ", 1), []string{`x.yaml:4:37: caller.channel must be per-call, per-user, shared or {pool: N}, not "sharde"; did you mean "shared"?`}},
		"empty pool":          {strings.Replace(head, "b: {", "b: {caller: {channel: {}}, ", 1), []string{"x.yaml:4:37: caller.channel needs pool (number of channels, which calls use in turn)"}},
		"two loads":           {strings.Replace(head, "burst: 5", "burst: 5, sequence: 6", 1), []string{"x.yaml:3:80: load accepts only one of burst and sequence"}},
		"no load":             {strings.Replace(head, ", load: {burst: 5}", "", 1), []string{"x.yaml:4:11: an arm needs load (when calls are due)", "x.yaml:4:18: an arm needs load (when calls are due)"}},
		"an empty load":       {strings.Replace(head, "burst: 5", "", 1), []string{"x.yaml:3:69: load needs sequence, burst, closed, open or search"}},
		"closed without end":  {strings.Replace(head, "burst: 5", "closed: {users: 2}", 1), []string{"x.yaml:3:78: load.closed never ends: set duration or calls"}},
		"open lacks duration": {strings.Replace(head, "burst: 5", "open: {rate: 2}", 1), []string{"x.yaml:3:76: load.open needs duration (time during which calls are due)"}},

		"unknown baseline": {withHead("baseline: c"), []string{`x.yaml:6:11: no arm "c"; known names: a, b`}},
		"unknown control":  {strings.Replace(head, "a: {}", "a: {control: shared}", 1), []string{`x.yaml:4:21: no arm "shared"; known names: a, b`}},
		"its own control":  {strings.Replace(head, "a: {}", "a: {control: a}", 1), []string{"x.yaml:4:21: arm a cannot be its own control"}},
		"control that differs": {strings.Replace(head, "a: {}", "a: {control: b, route: direct}", 1),
			[]string{"x.yaml:4:21: arm a is a control of b but has different settings: remove them"}},
		"confound": {withHead("confounds: [{published: a, controlled: c, what: y}]"), []string{
			"x.yaml:6:25: arm a is not marked as published", `x.yaml:6:40: no arm "c"; known names: a, b`}},
		"figure of no arm": {withHead("published: [{arm: c, note: y}]"), []string{`x.yaml:6:19: no arm "c"; known names: a, b`}},
		"figure of no cell": {withHead("sweep: {load.burst: [5]}", "published: [{arm: a, cell: {server.replicas: 5}, note: y}]"),
			[]string{"x.yaml:7:46: server.replicas is not in the sweep; known names: load.burst"}},

		"sweep of an unknown field": {withHead("sweep: {load.brust: [1]}"), []string{`x.yaml:6:9: unknown field "brust" in load; did you mean "burst"?`}},
		"sweep with a bad value":    {withHead("sweep: {load.burst: [1, 0]}"), []string{"x.yaml:6:25: load.burst must be 1 to 1000000, not 0"}},
		"sweep with a value twice":  {withHead("sweep: {load.burst: [1, 2, 1]}"), []string{"x.yaml:6:28: sweep load.burst contains 1 twice"}},
		"sweep of no values":        {withHead("sweep: {load.burst: []}"), []string{"x.yaml:6:21: sweep load.burst has no values: list one or more, or remove it"}},
		"axis of secrets":           {withHead("sweep: {caller.env: [{TOKEN: a}]}"), []string{"x.yaml:6:9: sweep caller.env sets caller.env, which can be secret, and results show the values of a sweep: use an arm for each value"}},
		"axis with secrets":         {withHead("sweep: {caller: [{env: {TOKEN: a}}]}"), []string{"x.yaml:6:9: sweep caller sets caller.env, which can be secret, and results show the values of a sweep: use an arm for each value"}},
		"quick axis of secrets":     {withHead("quick: {sweep.caller.env: [{TOKEN: a}]}"), []string{"x.yaml:6:27: sweep caller.env sets caller.env, which can be secret, and results show the values of a sweep: use an arm for each value"}},
		"axes that exclude":         {withHead("sweep: {load.burst: [1], load.sequence: [1]}"), []string{"x.yaml:6:26: sweep load.sequence and sweep load.burst exclude each other"}},
		"an arm sets what is swept": {withHead("sweep: {route: [direct]}"), []string{"x.yaml:4:26: arm b sets a field that sweep route sets for every arm"}},
		"too many cells": {withHead("sweep:", "  load.burst: "+numbers(110), "  server.replicas: "+numbers(110)),
			[]string{"x.yaml:7:3: the sweep has over 10000 combinations of arm and cell"}},

		"too many arms": {strings.Replace(head, "a: {}", strings.Join(count(101), ": {}, ")+": {}", 1),
			[]string{"x.yaml:4:7: 102 arms; an experiment has at most 100"}},
		"too many trials": {strings.Replace(withHead("sweep: {load.burst: "+numbers(500)+"}"), "rounds: 2", "rounds: 1000", 1),
			[]string{"x.yaml:5:9: 1000 rounds are 1000000 trials; an experiment has at most 100000"}},

		"events out of order":               {withHead("events: [{at: 2s, kill: 1}, {at: 1s, kill: 1}]"), []string{"x.yaml:6:34: events must be in order of time: 1s comes after 2s"}},
		"an event with two actions":         {withHead("events: [{at: 2s, kill: 1, scale: 5}]"), []string{"x.yaml:6:28: event accepts only one of kill and scale"}},
		"more backends than exist":          {withHead("events: [{at: 2s, scale: 2}, {at: 3s, kill: 3}]"), []string{"x.yaml:6:45: kill 3: only 2 backends exist at that time"}},
		"a cut of more backends than exist": {withHead("events: [{at: 2s, cut: {backends: 4}}]"), []string{"x.yaml:6:24: cut 4: only 3 backends exist at that time"}},
		"after the load":                    {strings.Replace(withHead("events: [{at: 2s, kill: 1}]"), "burst: 5", "open: {rate: 1, duration: 2s}", 1), []string{"x.yaml:6:15: at 2s is after the end of the load, which lasts 2s"}},
		"resume: false":                     {withHead("events: [{at: 2s, resume: false}]"), []string{"x.yaml:6:27: event.resume must be true: remove it otherwise"}},
		"search of an unknown metric": {searching(`{slo: "p98 < 5ms", from: 1, to: 9, duration: 1s}`),
			[]string{`x.yaml:3:84: load.search.slo "p98 < 5ms", column 1: no metric "p98"; did you mean "p90"?`}},
		"search from above":      {searching("{slo: p99 < 5ms, from: 9, to: 9, duration: 1s}"), []string{"x.yaml:3:108: load.search.to must be more than from, 9/s, not 9/s"}},
		"search without slo":     {searching("{from: 1, to: 9, duration: 1s}"), []string{"x.yaml:3:78: load.search needs slo (the condition, as for --assert, such as p99 < 50ms and errors < 0.1%; dropped calls count as errors)"}},
		"precision without unit": {searching("{slo: p99 < 5ms, from: 1, to: 9, duration: 1s, precision: 2}"), []string{`x.yaml:3:136: "2" has no unit: use a percentage such as 2%`}},
		"precision of zero":      {searching("{slo: p99 < 5ms, from: 1, to: 9, duration: 1s, precision: 0%}"), []string{"x.yaml:3:136: load.search.precision must be 0.1% to 50%, not 0%"}},
		"precision in words":     {searching("{slo: p99 < 5ms, from: 1, to: 9, duration: 1s, precision: high}"), []string{`x.yaml:3:136: load.search.precision must be a percentage such as 2%, not "high"`}},
		"a search with events": {searching("{slo: p99 < 5ms, from: 1, to: 9, duration: 1s}") + "events: [{at: 1ms, kill: 1}]\n",
			[]string{"x.yaml:6:9: events cannot be used with load.search: which rate they affect would be random; use load.open"}},
		"a gateway with events": {strings.Replace(withHead("events: [{at: 1ms, kill: 1}]"), "b: {", "b: {caller: {kind: http}, gateway: {}, workload: {increment: true}, ", 1),
			[]string{"x.yaml:6:9: events cannot be used with gateway: each of its requests makes several calls, whose outcomes rpclab cannot tell apart; remove gateway or events"}},
		"unknown design": {withHead("design: interleave"), []string{`x.yaml:6:9: design must be isolated, interleaved or side-by-side, not "interleave"; did you mean "interleaved"?`}},
		"events of arms that take turns": {withHead("design: interleaved", "events: [{at: 1ms, kill: 1}]"),
			[]string{"x.yaml:6:9: events need trials of their own, and design interleaved has none: remove them, or set design: isolated"}},
		"a ramp in turns": {strings.Replace(withHead("design: interleaved"), "burst: 5", "closed: {users: 2, ramp: 1s, duration: 5s}", 1),
			[]string{"x.yaml:6:9: arm a starts its users slowly (load.closed.ramp), and design interleaved measures in short blocks: remove the ramp, or set design: isolated",
				"x.yaml:6:9: arm b starts its users slowly (load.closed.ramp), and design interleaved measures in short blocks: remove the ramp, or set design: isolated"}},
		"a search in turns": {searching("{slo: p99 < 5ms, from: 1, to: 9, duration: 1s}") + "design: side-by-side\n",
			[]string{"x.yaml:6:9: arm a searches for its capacity, which needs the whole machine, and design side-by-side shares it: set design: isolated",
				"x.yaml:6:9: arm b searches for its capacity, which needs the whole machine, and design side-by-side shares it: set design: isolated"}},
		"quick: unknown field": {withHead("quick: {load.brust: 3}"), []string{`x.yaml:6:9: unknown field "brust" in load; did you mean "burst"?`}},
		"quick: bad value":     {withHead("quick: {rounds: 0}"), []string{"x.yaml:6:17: rounds must be 1 to 1000, not 0"}},
		"quick: does not fit":  {withHead("quick: {baseline: c}"), []string{`x.yaml:6:19: no arm "c"; known names: a, b`}},
		"quick: names no arm":  {withHead("quick: {arms.c.route: direct}"), []string{`x.yaml:6:9: no arm "c"; known names: a, b`}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Read("x.yaml", []byte(tc.doc), vocabulary)
			if diff := cmp.Diff(tc.want, lines(err)); diff != "" {
				t.Errorf("(-want +got)\n%s\n%s", diff, tc.doc)
			}
		})
	}
}

func TestAllErrorsAreReportedInTheOrderOfTheFile(t *testing.T) {
	doc := strings.NewReplacer("rounds: 2", "rounds: 0", "1ms", "7", "headless", "headles").Replace(head)
	_, err := Read("x.yaml", []byte(doc), vocabulary)
	want := []string{
		`x.yaml:3:38: "7" has no unit: use a duration such as 500ms or 2s`,
		`x.yaml:4:26: no route "headles"; did you mean "headless"?`,
		"x.yaml:5:9: rounds must be 1 to 1000, not 0",
	}
	if diff := cmp.Diff(want, lines(err)); diff != "" {
		t.Error(diff)
	}
	var first Error
	if !errors.As(err, &first) || first.Line != 3 || first.Column != 38 {
		t.Errorf("errors.As found %+v, want the error at 3:38", first)
	}
}

func TestHugeDocumentsAreRejectedQuickly(t *testing.T) {
	bomb := "a: &a [x, x, x, x, x, x, x, x, x]\n"
	for c := 'b'; c <= 'z'; c++ {
		bomb += string(c) + ": &" + string(c) + " [" + strings.Repeat("*"+string(c-1)+", ", 9) + "]\n"
	}
	for name, doc := range map[string]string{
		"alias bomb": bomb,
		"large":      strings.Repeat("# padding\n", 1<<16),
		"deep flow":  strings.Repeat("[", 200_000),
		"deep block": strings.Repeat("- ", 5_000) + "x",
		"many keys":  strings.Repeat("k: v\n", 40_000),
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			if _, err := Read("x.yaml", []byte(doc), vocabulary); err == nil {
				t.Error("the document is accepted, want an error")
			}
			if took := time.Since(start); took > 30*time.Second {
				t.Errorf("the error took %s, want at most 30s", took)
			}
		})
	}
}

func TestLargeSweepsAreExpandedQuickly(t *testing.T) {
	start := time.Now()
	p := mustExpand(t, withHead("sweep:", "  load.burst: "+numbers(50), "  server.replicas: "+numbers(100)), Options{})
	if took := time.Since(start); len(p.Trials) != 20_000 || took > time.Minute {
		t.Errorf("%d trials took %s, want 20,000 within a minute", len(p.Trials), took)
	}
}

func numbers(n int) string {
	return "[" + strings.Join(count(n), ", ") + "]"
}
