package experiment

import "slices"

// checkHeadline checks that the headline names each metric once, and that the events allow each metric.
func (d *document) checkHeadline(experiment *Experiment, wrong *problems) {
	list := d.root.get("headline")
	if list == nil {
		return
	}
	if len(list.values) == 0 {
		wrong.add(list.at, "headline is empty: list the metrics that answer the question, or remove it")
	}
	for i, name := range experiment.Headline {
		at := list.values[i].at
		switch {
		case slices.Contains(experiment.Headline[:i], name):
			wrong.add(at, "headline contains %s twice", name)
		case name == "followed" && !slices.ContainsFunc(experiment.Events, Event.mayAddBackends):
			wrong.add(at, "headline followed is the time until calls reach new backends, but no event adds a backend: add an event such as {at: 5s, scale: 10}, or remove followed")
		case name == "convergence" && len(experiment.Events) == 0:
			wrong.add(at, "headline convergence is the time until calls are balanced again after an event, but there are no events: remove convergence")
		}
	}
}

// mayAddBackends reports whether backends may become ready after the event.
func (e Event) mayAddBackends() bool { return e.Scale > 0 || e.Rolls() || e.Kill > 0 }
