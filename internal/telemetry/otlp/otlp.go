// Package otlp sends a run to a collector of OpenTelemetry (opentelemetry.io/docs/specs/otlp): the run, its rounds,
// trials and phases as spans of one trace, and the figures of each trial as metrics. docs/decisions/0048 says why it does
// not use the SDK.
package otlp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	metricsapi "go.opentelemetry.io/proto/slim/otlp/collector/metrics/v1"
	traceapi "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/slim/otlp/common/v1"
	metrics "go.opentelemetry.io/proto/slim/otlp/metrics/v1"
	resource "go.opentelemetry.io/proto/slim/otlp/resource/v1"
	trace "go.opentelemetry.io/proto/slim/otlp/trace/v1"

	"rpclab/internal/lab"
	"rpclab/internal/report"
	"rpclab/internal/result"
	"rpclab/internal/telemetry"
)

// Limits of a request: receivers accept messages of 4 MiB or more.
const (
	mostSpans   = 1000
	mostFigures = 2000 // of about 150 bytes each, more with long cells
)

// exporter sends a run.
type exporter struct {
	options  Options
	sender   sender
	queue    *telemetry.Queue
	resource *resource.Resource
	scope    *common.InstrumentationScope
	start    time.Time // of the run
	spans    *spans
	phases   telemetry.PhaseTimes
}

// New returns an exporter of a run.
func New(run telemetry.Run, o Options) (telemetry.Exporter, error) {
	sender, err := newSender(o, run.Version)
	if err != nil {
		return nil, err
	}
	return &exporter{
		options: o, sender: sender, queue: telemetry.NewQueue(), resource: resourceOf(run, o),
		scope: &common.InstrumentationScope{Name: "rpclab", Version: run.Version},
		start: time.Now(), spans: newSpans(run.Plan, run.ID),
	}, nil
}

// resourceOf describes this program and its run.
func resourceOf(run telemetry.Run, o Options) *resource.Resource {
	described := maps.Clone(o.resource)
	described["service.version"] = cmp.Or(run.Version, "devel")
	described["service.instance.id"] = run.ID
	described["rpclab.run"], described["rpclab.experiment"] = run.ID, run.Plan.Name
	r := &resource.Resource{}
	for _, name := range slices.Sorted(maps.Keys(described)) {
		r.Attributes = append(r.Attributes, text(name, described[name]))
	}
	return r
}

// Show sends the spans and the figures of a trial that has ended.
func (e *exporter) Show(p lab.Progress) {
	now := time.Now()
	e.spans.show(p, now)
	if p.Ended != nil {
		e.sendSpans()
		e.sendMetrics(append(telemetry.OfTrial(p), e.phases.Changed()...), now)
	}
}

// Phase adds the span of a phase.
func (e *exporter) Phase(p lab.Phase) {
	e.spans.phase(p)
	e.phases.Add(p)
}

// End sends the remaining spans, and that of the run.
func (e *exporter) End(d result.Document, failed error) error {
	now := time.Now()
	why, answer := "", []*common.KeyValue(nil)
	if errors.Is(failed, context.Canceled) {
		why = "interrupted"
	} else if failed != nil {
		why = failed.Error()
	}
	if d.ID != "" {
		answer = append(answer, text("rpclab.answer", result.ShortenPaths(report.Answer(d))))
	}
	e.spans.endRun(now, why, answer...)
	e.sendSpans()
	e.sendMetrics(e.phases.Figures(), now)
	err := e.queue.Close()
	e.sender.close()
	return err
}

// sendSpans sends the spans that have ended since it was last called.
func (e *exporter) sendSpans() {
	ended := e.spans.take()
	if e.options.noSpans {
		return
	}
	for some := range slices.Chunk(ended, mostSpans) {
		request := &traceapi.ExportTraceServiceRequest{ResourceSpans: []*trace.ResourceSpans{{
			Resource: e.resource, ScopeSpans: []*trace.ScopeSpans{{Scope: e.scope, Spans: some}},
		}}}
		e.queue.Add(func(ctx context.Context) error {
			var response traceapi.ExportTraceServiceResponse
			err := e.sender.send(ctx, spansSignal, request, &response)
			part := response.GetPartialSuccess()
			return outcome(spansSignal, err, part.GetRejectedSpans(), part.GetErrorMessage())
		})
	}
}

// sendMetrics sends figures.
func (e *exporter) sendMetrics(figures []telemetry.Figure, at time.Time) {
	if e.options.noMetrics {
		return
	}
	for some := range slices.Chunk(figures, mostFigures) {
		request := &metricsapi.ExportMetricsServiceRequest{ResourceMetrics: []*metrics.ResourceMetrics{{
			Resource: e.resource, ScopeMetrics: []*metrics.ScopeMetrics{{Scope: e.scope, Metrics: metricsOf(some, e.start, at)}},
		}}}
		e.queue.Add(func(ctx context.Context) error {
			var response metricsapi.ExportMetricsServiceResponse
			err := e.sender.send(ctx, metricsSignal, request, &response)
			part := response.GetPartialSuccess()
			return outcome(metricsSignal, err, part.GetRejectedDataPoints(), part.GetErrorMessage())
		})
	}
}

// outcome returns the error of a request, which may have been accepted in part.
func outcome(s signal, failed error, rejected int64, why string) error {
	switch {
	case failed != nil:
		return fmt.Errorf("%s: %w", s.name, failed)
	case rejected > 0:
		return fmt.Errorf("%s: the receiver rejected %d: %s", s.name, rejected, why)
	}
	return nil
}
