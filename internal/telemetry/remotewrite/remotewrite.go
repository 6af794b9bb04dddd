// Package remotewrite sends a run to Prometheus, or to what accepts its remote write protocol, version 1.0
// (prometheus.io/docs/specs/prw/remote_write_spec): the metrics of --metrics every few seconds, and the figures of each
// trial when it has ended.
package remotewrite

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/golang/snappy"
	"github.com/prometheus/client_golang/prometheus"

	"rpclab/internal/lab"
	"rpclab/internal/result"
	"rpclab/internal/telemetry"
)

const (
	interval   = 5 * time.Second // between two samples of the run in progress
	mostSeries = 2000            // of a request, as Prometheus itself sends
)

// Options configures an exporter.
type Options struct {
	URL     string      // of the receiver, such as http://127.0.0.1:9090/api/v1/write; may have a user and a password
	Header  http.Header // of every request
	Host    string      // the label instance
	Metrics prometheus.Gatherer
}

// String returns the URL without a password.
func (o Options) String() string {
	to, err := url.Parse(o.URL)
	if err != nil {
		return "an invalid URL"
	}
	return to.Redacted()
}

// CheckURL returns an error unless remote write can use the URL.
func CheckURL(text string) error {
	to, err := url.Parse(text)
	if err != nil || to.Scheme != "http" && to.Scheme != "https" || to.Host == "" {
		return errors.New("use a URL such as http://127.0.0.1:9090/api/v1/write")
	}
	return nil
}

// exporter sends a run to Prometheus.
type exporter struct {
	Options
	client      *http.Client
	queue       *telemetry.Queue
	ofAll, ofIt []telemetry.Label // of all series, and of those of this run alone
	phases      telemetry.PhaseTimes
	stop        chan struct{}
	ticks       sync.WaitGroup
	mu          sync.Mutex // of the following
	last        []series   // of the metrics, sent last
	latest      time.Time  // of all samples
}

// New returns an exporter of a run.
func New(run telemetry.Run, o Options) telemetry.Exporter {
	header := http.Header{
		"Content-Encoding": {"snappy"}, "Content-Type": {"application/x-protobuf"},
		"X-Prometheus-Remote-Write-Version": {"0.1.0"}, "User-Agent": {"rpclab/" + run.Version},
	}
	for name, values := range o.Header {
		header[name] = values
	}
	o.Header = header
	e := &exporter{Options: o, client: telemetry.NewClient(nil), queue: telemetry.NewQueue(), stop: make(chan struct{})}
	e.ofAll = []telemetry.Label{{Name: "job", Value: "rpclab"}, {Name: "instance", Value: o.Host}}
	e.ofIt = append(slices.Clone(e.ofAll), telemetry.Label{Name: "run", Value: run.ID}, telemetry.Label{Name: "experiment", Value: run.Plan.Name})
	e.ticks.Go(e.watch)
	return e
}

// watch sends the metrics of the run in progress until stop is closed.
func (e *exporter) watch() {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			e.sendMetrics()
		case <-e.stop:
			return
		}
	}
}

// sendMetrics sends what Prometheus would scrape now, and ends series that are gone.
func (e *exporter) sendMetrics() {
	families, err := e.Metrics.Gather()
	if err != nil {
		e.queue.Add(func(context.Context) error { return err })
		return
	}
	now := e.next()
	e.mu.Lock()
	defer e.mu.Unlock()
	current := ofFamilies(families, e.ofAll, now)
	ended := missing(e.last, current, now)
	e.last = current
	e.send(append(current[:len(current):len(current)], ended...))
}

// next returns the time of the next samples. It is later than that of all others by a millisecond or more, because
// Prometheus refuses two values of a series for the same millisecond.
func (e *exporter) next() time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := time.Now()
	if after := e.latest.Add(time.Millisecond); now.Before(after) {
		now = after
	}
	e.latest = now
	return now
}

// missing returns the ends of series that are not current.
func missing(last, current []series, now time.Time) (ended []series) {
	still := map[string]bool{}
	for _, s := range current {
		still[fmt.Sprint(s.labels)] = true
	}
	for _, s := range last {
		if !still[fmt.Sprint(s.labels)] {
			ended = append(ended, series{s.labels, stale, now})
		}
	}
	return ended
}

// Show sends the figures of a trial that has ended.
func (e *exporter) Show(p lab.Progress) {
	if p.Ended == nil {
		return
	}
	now := e.next()
	e.send(append(ofFigures(telemetry.OfTrial(p), e.ofIt, now), ofFigures(e.phases.Figures(), e.ofIt, now)...))
}

// Phase counts the time of a phase.
func (e *exporter) Phase(p lab.Phase) { e.phases.Add(p) }

// End sends the last values of the run and ends its series.
func (e *exporter) End(result.Document, error) error {
	close(e.stop)
	e.ticks.Wait()
	e.send(ofFigures(e.phases.Figures(), e.ofIt, e.next()))
	e.sendMetrics()
	e.send(missing(e.last, nil, e.next()))
	err := e.queue.Close()
	e.client.CloseIdleConnections()
	return err
}

// send sends series later.
func (e *exporter) send(all []series) {
	for some := range slices.Chunk(all, mostSeries) {
		body := snappy.Encode(nil, encode(some))
		e.queue.Add(func(ctx context.Context) error {
			_, err := telemetry.Post(ctx, e.client, e.URL, e.Header, body)
			return err
		})
	}
}
