package remotewrite

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/encoding/protowire"

	"rpclab/internal/telemetry"
)

// series is a series of Prometheus with one sample. Its labels are sorted by name.
type series struct {
	labels []telemetry.Label
	value  float64
	at     time.Time
}

// stale is the value that ends a series (prometheus.io/docs/specs/prw/remote_write_spec: "Stale Markers").
var stale = math.Float64frombits(0x7ff0000000000002)

// newSeries returns a series with the labels of one sample and those of all samples, without those that are empty
// (prometheus.io/docs/specs/prw/remote_write_spec: "Labels").
func newSeries(name string, labels, common []telemetry.Label, value float64, at time.Time) series {
	all := slices.Concat([]telemetry.Label{{Name: "__name__", Value: name}}, common, labels)
	all = slices.DeleteFunc(all, func(l telemetry.Label) bool { return l.Value == "" })
	slices.SortFunc(all, func(a, b telemetry.Label) int { return cmp.Compare(a.Name, b.Name) })
	return series{all, value, at}
}

// ofFigures returns series for figures.
func ofFigures(figures []telemetry.Figure, common []telemetry.Label, at time.Time) (all []series) {
	for _, f := range figures {
		all = append(all, newSeries(nameOf(f), f.Labels, common, f.Value, at))
	}
	return all
}

// suffixes are those of names, by the unit, as in the translation of OpenTelemetry's names to those of Prometheus.
var suffixes = map[string]string{"s": "_seconds", "By": "_bytes", "1": "_ratio", "{call}": "", "{call}/s": "_per_second"}

func nameOf(f telemetry.Figure) string {
	name := strings.ReplaceAll(f.Name, ".", "_") + suffixes[f.Unit]
	if f.Counter {
		name += "_total"
	}
	return name
}

// ofFamilies returns series for the metrics that Prometheus would scrape. Of histograms it takes the classic buckets.
func ofFamilies(families []*dto.MetricFamily, common []telemetry.Label, at time.Time) (all []series) {
	for _, family := range families {
		name := family.GetName()
		for _, m := range family.Metric {
			var labels []telemetry.Label
			for _, l := range m.Label {
				labels = append(labels, telemetry.Label{Name: l.GetName(), Value: l.GetValue()})
			}
			add := func(suffix string, value float64, more ...telemetry.Label) {
				all = append(all, newSeries(name+suffix, slices.Concat(labels, more), common, value, at))
			}
			switch {
			case m.Counter != nil:
				add("", m.Counter.GetValue())
			case m.Gauge != nil:
				add("", m.Gauge.GetValue())
			case m.Histogram != nil:
				for _, b := range m.Histogram.Bucket {
					add("_bucket", float64(b.GetCumulativeCount()), telemetry.Label{Name: "le", Value: strconv.FormatFloat(b.GetUpperBound(), 'g', -1, 64)})
				}
				count := float64(m.Histogram.GetSampleCount())
				add("_bucket", count, telemetry.Label{Name: "le", Value: "+Inf"})
				add("_count", count)
				add("_sum", m.Histogram.GetSampleSum())
			}
		}
	}
	return all
}

// The numbers of fields in the messages WriteRequest, TimeSeries, Label and Sample of remote write 1.0
// (prometheus.io/docs/specs/prw/remote_write_spec: "Protocol").
const (
	fieldTimeSeries = 1

	fieldLabels  = 1
	fieldSamples = 2

	fieldName, fieldValue = 1, 2 // of a label

	fieldSample, fieldTime = 1, 2
)

// encode returns a WriteRequest. The generated code of Prometheus imports most of Prometheus.
func encode(all []series) (request []byte) {
	for _, s := range all {
		var message []byte
		for _, l := range s.labels {
			label := protowire.AppendString(protowire.AppendTag(nil, fieldName, protowire.BytesType), l.Name)
			label = protowire.AppendString(protowire.AppendTag(label, fieldValue, protowire.BytesType), l.Value)
			message = protowire.AppendBytes(protowire.AppendTag(message, fieldLabels, protowire.BytesType), label)
		}
		sample := protowire.AppendFixed64(protowire.AppendTag(nil, fieldSample, protowire.Fixed64Type), math.Float64bits(s.value))
		sample = protowire.AppendVarint(protowire.AppendTag(sample, fieldTime, protowire.VarintType), uint64(s.at.UnixMilli()))
		message = protowire.AppendBytes(protowire.AppendTag(message, fieldSamples, protowire.BytesType), sample)
		request = protowire.AppendBytes(protowire.AppendTag(request, fieldTimeSeries, protowire.BytesType), message)
	}
	return request
}
