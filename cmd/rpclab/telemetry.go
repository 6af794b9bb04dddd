package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"

	"rpclab/internal/lab"
	"rpclab/internal/process"
	"rpclab/internal/result"
	"rpclab/internal/telemetry"
	"rpclab/internal/telemetry/otlp"
	"rpclab/internal/telemetry/remotewrite"
	"rpclab/internal/version"
)

const remoteWriteHeaders = "RPCLAB_REMOTE_WRITE_HEADERS"

// telemetryFlags select the receivers of a run in progress.
type telemetryFlags struct {
	otlp, remoteWrite string
	toCollector       *otlp.Options // nil: none
	unusable          error         // why the receiver of the environment is not used
	toPrometheus      remotewrite.Options
}

func (f *telemetryFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.otlp, "otlp", "", "send phases and figures of trials to OpenTelemetry at `URL`: http://HOST:4318 or grpc://HOST:4317 (default: "+otlp.Endpoint+")")
	flags.StringVar(&f.remoteWrite, "remote-write", "", "send metrics and figures of trials to Prometheus at `URL`, such as http://HOST:9090/api/v1/write")
}

// check finds out before a run whether the receivers may be used. It removes the headers from the environment, so that
// child processes do not inherit them.
func (f *telemetryFlags) check() (err error) {
	headers := os.Getenv(remoteWriteHeaders)
	if err := os.Unsetenv(remoteWriteHeaders); err != nil {
		return err
	}
	if f.toCollector, err = otlp.Read(f.otlp, os.Getenv); err != nil && f.otlp == "" {
		f.toCollector, f.unusable, err = nil, err, nil // the variables may be for other programs
	}
	if err != nil || f.remoteWrite == "" {
		return err
	}
	if err := remotewrite.CheckURL(f.remoteWrite); err != nil {
		return fmt.Errorf("--remote-write: %w", err)
	}
	f.toPrometheus.URL, f.toPrometheus.Host = f.remoteWrite, hostname()
	if f.toPrometheus.Header != nil {
		return nil
	}
	if f.toPrometheus.Header, err = telemetry.ParseHeaders(headers); err != nil {
		return fmt.Errorf("%s: %w", remoteWriteHeaders, err)
	}
	return nil
}

// unreachable returns the flags without receivers, for a run in a network of its own.
func (f telemetryFlags) unreachable(out io.Writer) telemetryFlags {
	if (f.toCollector != nil || f.remoteWrite != "") && process.NetworkIsolated() { // this program starts again in the network
		fmt.Fprintln(out, "rpclab: warning: nothing is sent to OpenTelemetry and Prometheus: the run has a network of its own, because it drops packets (event cut, how: blackhole)")
	}
	return telemetryFlags{}
}

// receivers are the receivers of a run in progress.
type receivers struct {
	out   io.Writer
	names []string // of the receivers
	all   []telemetry.Exporter
}

// open starts to send a run. Errors of receivers go to out at its end.
func (f telemetryFlags) open(out io.Writer, plan lab.Plan, id string, metrics prometheus.Collector) (*receivers, error) {
	e, run := &receivers{out: out}, telemetry.Run{ID: id, Plan: plan.Plan, Version: version.Current().String()}
	if f.unusable != nil {
		fmt.Fprintf(out, "rpclab: warning: nothing is sent to OpenTelemetry: %v\n", f.unusable)
	}
	if f.toCollector != nil {
		one, err := otlp.New(run, *f.toCollector)
		if err != nil {
			return nil, fmt.Errorf("--otlp: %w", err)
		}
		e.names, e.all = append(e.names, "OpenTelemetry at "+f.toCollector.String()), append(e.all, one)
	}
	if f.remoteWrite != "" {
		registry := prometheus.NewRegistry()
		registry.MustRegister(metrics)
		f.toPrometheus.Metrics = registry
		e.names, e.all = append(e.names, "Prometheus at "+f.toPrometheus.String()), append(e.all, remotewrite.New(run, f.toPrometheus))
	}
	return e, nil
}

func (e *receivers) show(p lab.Progress) {
	for _, one := range e.all {
		one.Show(p)
	}
}

func (e *receivers) phase(p lab.Phase) {
	for _, one := range e.all {
		one.Phase(p)
	}
}

// close sends what remains. A receiver that fails is a warning: the run itself is complete.
func (e *receivers) close(d result.Document, failed error) {
	errs := make([]error, len(e.all))
	var ending sync.WaitGroup
	for i, one := range e.all {
		ending.Go(func() { errs[i] = one.End(d, failed) })
	}
	ending.Wait()
	for i, err := range errs {
		if err != nil {
			fmt.Fprintf(e.out, "rpclab: warning: could not send everything to %s: %s; the result is complete\n", e.names[i], strings.Join(strings.Fields(err.Error()), " "))
		}
	}
}
