package experiment

import (
	"fmt"
	"reflect"
	"slices"
)

// resolve decodes the document, merges every arm's config in every cell and checks fields that
// depend on each other.
func (d *document) resolve() (resolved, error) {
	var r resolved
	whole := decoder{grammar: d.grammar, arms: d.armNames()}
	whole.decode(d.grammar.document, d.root, reflect.ValueOf(&r.experiment).Elem())
	if err := whole.err(); err != nil {
		return r, err
	}
	experiment := &r.experiment
	var wrong problems
	d.checkSize(experiment, &wrong)
	if err := wrong.err(); err != nil {
		return r, err
	}
	d.checkNames(experiment, &wrong)
	d.checkHeadline(experiment, &wrong)
	d.checkServices(experiment, &wrong)
	d.checkAxes(experiment, &wrong)
	if err := wrong.err(); err != nil {
		return r, err
	}
	cells := d.cells()
	for _, cell := range cells {
		r.cells = append(r.cells, cell.point)
	}
	for i, arm := range experiment.Arms {
		base := merge(d.grammar.config, d.root.get("defaults"), d.ownConfig(arm.Name))
		base = merge(d.grammar.config, d.serverOf(base.get("service")), base)
		experiment.Arms[i].Config, _ = d.config(base) // the sweep may add required fields
		configs, before := make([]Config, len(cells)), len(wrong.found)
		for j, cell := range cells {
			n := merge(d.grammar.config, base, cell.config)
			config, err := d.config(n)
			configs[j] = config
			wrong.found = append(wrong.found, err...)
			if err == nil && (len(d.picked) == 0 || slices.Contains(d.picked, arm.Name)) {
				d.checkConfig(config, n, &wrong)
				d.checkClientFields(config, arm.Name, &wrong)
				d.checkArmService(experiment, config, n, &wrong)
				d.checkEvents(experiment.Events, config, &wrong)
				d.checkDesign(experiment, arm.Name, config, &wrong)
			}
		}
		r.configs = append(r.configs, configs)
		if len(wrong.found) == before {
			r.valid = append(r.valid, arm.Name)
		}
	}
	if experiment.Baseline == "" {
		experiment.Baseline = experiment.Arms[0].Name
	}
	if len(wrong.found) == 0 {
		d.checkControls(r, &wrong)
		d.checkEncryption(r, &wrong)
	}
	return r, wrong.err()
}

// serverOf returns the number of backends that a service asks for and their limits, as a config; nil: none.
func (d *document) serverOf(name *node) *node {
	if name == nil {
		return nil
	}
	server := d.root.get("services").get(name.text).get("server")
	set := &node{kind: mapping}
	if addresses := server.get("addresses"); addresses != nil && len(addresses.values) > 0 {
		n := len(addresses.values)
		set = set.with("replicas", &node{at: addresses.at, value: n, text: fmt.Sprint(n)})
	}
	if replicas := server.get("replicas"); replicas != nil {
		set = set.with("replicas", replicas)
	}
	for _, limit := range server.get("resources").fields() {
		set = set.with(limit.key, limit.value)
	}
	if len(set.pairs) == 0 {
		return nil
	}
	return nest([]string{"server"}, set)
}
