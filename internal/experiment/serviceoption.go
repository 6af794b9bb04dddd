package experiment

import (
	"bytes"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"rpclab/internal/suggest"
)

// ReadService reads a service file.
func ReadService(d ServiceDocument, vocabulary Vocabulary) (ServiceFile, error) {
	read, _, err := readService(d, vocabulary)
	return read, err
}

// FirstCall returns the first of the calls of a workload, which is that of the file if the workload names none.
func (f ServiceFile) FirstCall(w Workload) ServiceCall {
	if shares := w.Shares(); len(shares) > 0 {
		if i := slices.Index(callNames(f.ServiceBody), shares[0].Call); i >= 0 {
			return f.Calls[i]
		}
	}
	return f.Calls[0]
}

func readService(d ServiceDocument, vocabulary Vocabulary) (read ServiceFile, root *node, err error) {
	if len(bytes.TrimSpace(d.Text)) == 0 {
		return read, nil, Errors{{File: d.File, Message: "the file is empty; a service file begins with `service: NAME`"}}
	}
	if root, err = parse(d.File, d.Text); err != nil {
		return read, nil, err
	}
	root = placeServer(root, d.On)
	typ := newTypeReader(vocabulary).read(reflect.TypeFor[ServiceFile](), "", "", "")
	typ.what = "the service"
	whole := decoder{grammar: newGrammar(vocabulary)}
	whole.decode(typ, root, reflect.ValueOf(&read).Elem())
	if err := whole.err(); err != nil {
		return read, nil, err
	}
	var wrong problems
	checkService(Service(read), root, &wrong)
	return read, root, wrong.err()
}

// useService makes all arms call one service in place of rpclab's own servers. workload has the name of a call, or
// several; neither: the first one. picked are the arms that will run; none: all.
func (d *document) useService(service ServiceDocument, workload Workload, picked []string) error {
	read, root, err := readService(service, d.grammar.vocabulary)
	if err != nil {
		return err
	}
	if err := d.checkOwnServers(service, workload, picked); err != nil {
		return err
	}
	source := position{file: "--service " + service.File}
	text := func(value string) *node { return &node{at: source, value: value, text: value} }
	var wrong problems
	names := callNames(read.ServiceBody)
	if len(workload.Shares()) == 0 {
		workload.Call = names[0]
	}
	if workload.Call != "" && !slices.Contains(names, workload.Call) {
		wrong.add(position{file: "--call " + workload.Call}, "%s has no call %q%s", service.File, workload.Call, suggest.DidYouMean(workload.Call, names))
	}
	if len(workload.Mix) > 0 {
		workload.Mix.check(read.Name, names, func(string) position { return position{file: "--mix " + workload.Mix.String()} }, &wrong)
	}
	if len(workload.Flow) > 0 {
		checkFlow(workload.Flow, read.Name, names, func(int) position { return position{file: "--flow " + strings.Join(workload.Flow, ",")} }, &wrong)
	}
	if err := wrong.err(); err != nil {
		return err
	}
	if len(picked) > 0 {
		d.removeArms(func(arm string) bool { return !slices.Contains(picked, arm) })
	}
	if d.root.get("defaults").get("gateway") != nil { // its caller makes HTTP requests
		d.clearEverywhere([]string{"caller", "kind"})
	}
	for _, path := range ofOwnServers {
		d.clearEverywhere(strings.Split(path, "."))
	}
	body := root.without(func(key string) bool { return key == "service" })
	d.root = d.root.with("services", (&node{at: root.at, kind: mapping}).with(read.Name, body))
	for _, p := range d.serverOf(text(read.Name)).get("server").fields() {
		if defaults := cleared(d.grammar.config, d.root.get("defaults"), []string{"server", p.key}); defaults != nil {
			d.root = d.root.with("defaults", defaults)
		}
	}
	d.forgetStudy()
	if defaults := d.root.get("defaults"); read.FirstCall(workload).HTTP != "" && defaults.get("caller").get("command") == nil {
		// The clients that arms name are what they compare.
		kind := []string{"caller", "kind"}
		d.root = d.root.with("defaults", merge(d.grammar.config, cleared(d.grammar.config, defaults, kind), nest(kind, text("http"))))
	}
	d.setEverywhere([]string{"service"}, text(read.Name))
	field, value := "call", text(workload.Call)
	switch {
	case len(workload.Flow) > 0:
		field, value = "flow", &node{at: source, kind: sequence}
		for _, call := range workload.Flow {
			value.values = append(value.values, text(call))
		}
	case len(workload.Mix) > 0:
		field, value = "mix", &node{at: source, kind: mapping}
		for _, share := range workload.Shares() {
			value = value.with(share.Call, text(workload.Mix[share.Call]))
		}
	}
	d.setEverywhere([]string{"workload", field}, value)
	return nil
}

// forgetStudy removes what refers to the published study, which measured other servers.
func (d *document) forgetStudy() {
	d.root = d.root.without(func(key string) bool {
		return slices.Contains([]string{"source", "published", "published_size", "confounds"}, key)
	})
	arms := d.root.get("arms")
	for _, p := range arms.pairs {
		if p.value.kind == mapping {
			arms = arms.with(p.key, p.value.without(func(field string) bool { return field == "published" }))
		}
	}
	d.root = d.root.with("arms", arms)
}

// ofOwnServer returns the index in [ofOwnServers] of the first field that an arm sets; -1: it sets none.
func (d *document) ofOwnServer(arm string) int {
	own := d.ownConfig(arm)
	return slices.IndexFunc(ofOwnServers, func(path string) bool {
		_, set := own.find(strings.Split(path, "."))
		return set
	})
}

// armsOfServices are the arms that set nothing that only rpclab's own servers have.
func (d *document) armsOfServices() []string {
	return slices.DeleteFunc(d.armNames(), func(arm string) bool { return d.ofOwnServer(arm) >= 0 })
}

// checkOwnServers returns an error if arms differ in what only rpclab's own servers have.
func (d *document) checkOwnServers(service ServiceDocument, workload Workload, picked []string) error {
	var wrong problems
	at := position{file: "--service " + service.File}
	name := d.root.get("experiment").text
	var able, reasons []string
	different, ofTLS := 0, false // arms that can call a service, without repetitions of others; an arm that cannot sets TLS
	for _, arm := range d.armNames() {
		i := d.ofOwnServer(arm)
		switch {
		case i < 0:
			able = append(able, arm)
			if d.root.get("arms").get(arm).get("control") == nil {
				different++
			}
		case len(picked) == 0 || slices.Contains(picked, arm):
			reasons = append(reasons, fmt.Sprintf("arm %s sets %s", arm, ofOwnServers[i]))
			ofTLS = ofTLS || ofOwnServers[i] == "server.security"
		}
	}
	const shown = 3
	if more := len(reasons) - shown; more > 0 {
		reasons = append(reasons[:shown], fmt.Sprintf("and %d more", more))
	}
	switch {
	case len(reasons) == 0:
	case different < 2:
		remedy := ""
		if ofTLS {
			remedy = ". To measure what TLS costs your service, write an experiment that names two services, one of them with tls, as examples/python-service/tls.yaml does (docs/your-service.md)"
		}
		wrong.add(at, "experiment %s compares what only rpclab's own servers have (%s): it cannot run on a service%s", name, strings.Join(reasons, ", "), remedy)
	default:
		differ := fmt.Sprintf("some arms of %s differ in what only rpclab's own servers have (%s)", name, strings.Join(reasons, ", "))
		if able = d.armsFor(service, workload, able); len(able) < 2 {
			wrong.add(at, "%s, and fewer than two of the others can call this service: the experiment cannot run on it", differ)
		} else {
			wrong.add(at, "%s: add --arms %s", differ, strings.Join(able, ","))
		}
	}
	return wrong.err()
}

// armsFor returns the arms, of these, that can call a service; all of them if the error is not one of an arm.
func (d *document) armsFor(service ServiceDocument, workload Workload, arms []string) []string {
	tried := *d
	if err := tried.useService(service, workload, arms); err != nil {
		return arms
	}
	r, err := tried.resolve()
	if r.configs == nil || err == nil {
		return arms
	}
	return r.valid
}

// withArms adds to the errors of arms that cannot call a service the arms that can.
func (r resolved) withArms(err error, service *ServiceDocument) error {
	all, ok := err.(Errors)
	if !ok || service == nil || len(r.valid) < 2 {
		return err
	}
	return append(all, Error{File: "--service " + service.File,
		Message: fmt.Sprintf("the other arms of %s can call the service: add --arms %s", r.experiment.Name, strings.Join(r.valid, ","))})
}

// removeArms removes arms and what refers to them.
func (d *document) removeArms(remove func(arm string) bool) {
	refers := func(n *node, fields ...string) bool {
		return slices.ContainsFunc(fields, func(field string) bool {
			arm := n.get(field)
			return arm != nil && remove(arm.text)
		})
	}
	arms := d.root.get("arms").without(remove)
	for i, p := range arms.pairs {
		if p.value.kind == mapping {
			arms.pairs[i].value = p.value.without(func(field string) bool {
				return (field == "control" || field == "against") && refers(p.value, field)
			})
		}
	}
	d.root = d.root.with("arms", arms).without(func(key string) bool { return key == "baseline" && refers(d.root, key) })
	if quick := d.root.get("quick"); quick != nil && quick.kind == mapping {
		d.root = d.root.with("quick", quick.without(func(path string) bool {
			path, ofArm := strings.CutPrefix(path, "arms.")
			arm, _, _ := strings.Cut(path, ".")
			return ofArm && remove(arm)
		}))
	}
}

// clearEverywhere removes a field from the defaults, the arms and the sweep.
func (d *document) clearEverywhere(path []string) {
	clear := func(typ *valueType, n *node) *node {
		if _, set := n.find(path); n == nil || !set {
			return n
		}
		if n = cleared(typ, n, path); n == nil {
			n = &node{kind: mapping}
		}
		return n
	}
	if defaults := d.root.get("defaults"); defaults != nil {
		d.root = d.root.with("defaults", clear(d.grammar.config, defaults))
	}
	arms := d.root.get("arms")
	for _, p := range arms.pairs {
		if p.value.kind == mapping {
			arms = arms.with(p.key, clear(d.grammar.arm, p.value))
		}
	}
	d.root = d.root.with("arms", arms)
	d.clearAxes(path)
}

// inDirectory returns a service whose relative paths start at a directory.
func (s Service) inDirectory(dir string) Service {
	join := func(path string) string {
		if path == "" || filepath.IsAbs(path) {
			return path
		}
		return filepath.Join(dir, path)
	}
	all := func(paths []string) (joined []string) {
		for _, p := range paths {
			joined = append(joined, join(p))
		}
		return joined
	}
	if s.TLS != nil {
		own := *s.TLS
		own.CACert, own.Cert, own.Key = join(own.CACert), join(own.Cert), join(own.Key)
		s.TLS = &own
	}
	s.Calls = slices.Clone(s.Calls)
	for i, c := range s.Calls {
		if file := c.Data.File(); file != "" {
			s.Calls[i].Data = dataOf(join(file))
		}
	}
	s.Server.Files = maps.Clone(s.Server.Files)
	for inside, file := range s.Server.Files {
		s.Server.Files[inside] = join(file)
	}
	s.Proto, s.ImportPaths, s.Protoset = all(s.Proto), all(s.ImportPaths), join(s.Protoset)
	if s.Server.Command != nil {
		s.Server.Dir = join(s.Server.Dir)
		if s.Server.Dir == "" {
			s.Server.Dir = dir
		}
	}
	return s
}
