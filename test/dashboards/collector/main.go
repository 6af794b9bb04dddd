// Command collector DIR runs the OTLP receiver of the OpenTelemetry collector, over gRPC and over HTTP, until a signal. It
// writes what it received to DIR/traces and DIR/metrics, a line of JSON for each request, and the addresses of the
// receiver to DIR/addresses. The rest of the collector, which would configure and connect receivers and exporters, takes
// twice as long to compile.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	metricsdk "go.opentelemetry.io/otel/metric/noop"
	tracesdk "go.opentelemetry.io/otel/trace/noop"
	"go.uber.org/zap"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := collect(ctx, os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

// collect receives until ctx ends.
func collect(ctx context.Context, dir string) error {
	grpc, http, err := freeAddresses()
	if err != nil {
		return err
	}
	traces, err := consumer.NewTraces(func(_ context.Context, data ptrace.Traces) error {
		text, err := (&ptrace.JSONMarshaler{}).MarshalTraces(data)
		return errors.Join(err, addLine(filepath.Join(dir, "traces"), text))
	})
	if err != nil {
		return err
	}
	metrics, err := consumer.NewMetrics(func(_ context.Context, data pmetric.Metrics) error {
		text, err := (&pmetric.JSONMarshaler{}).MarshalMetrics(data)
		return errors.Join(err, addLine(filepath.Join(dir, "metrics"), text))
	})
	if err != nil {
		return err
	}
	factory := otlpreceiver.NewFactory()
	config := factory.CreateDefaultConfig()
	protocols := map[string]any{"grpc": map[string]any{"endpoint": grpc}, "http": map[string]any{"endpoint": http}}
	if err := confmap.NewFromStringMap(map[string]any{"protocols": protocols}).Unmarshal(config); err != nil {
		return err
	}
	settings := receiver.Settings{ID: component.NewID(factory.Type()), TelemetrySettings: component.TelemetrySettings{
		Logger: zap.NewNop(), TracerProvider: tracesdk.NewTracerProvider(), MeterProvider: metricsdk.NewMeterProvider(),
	}}
	// Both share the servers.
	ofTraces, err := factory.CreateTraces(ctx, settings, config, traces)
	if err != nil {
		return err
	}
	ofMetrics, err := factory.CreateMetrics(ctx, settings, config, metrics)
	if err != nil {
		return err
	}
	if err := errors.Join(ofTraces.Start(ctx, noHost{}), ofMetrics.Start(ctx, noHost{})); err != nil {
		return err
	}
	if err := addLine(filepath.Join(dir, "addresses"), fmt.Appendf(nil, "%s %s", grpc, http)); err != nil {
		return err
	}
	<-ctx.Done()
	return errors.Join(ofTraces.Shutdown(context.Background()), ofMetrics.Shutdown(context.Background()))
}

// noHost has no extensions.
type noHost struct{}

func (noHost) GetExtensions() map[component.ID]component.Component { return nil }

// freeAddresses returns two unused addresses of this machine.
func freeAddresses() (first, second string, err error) {
	one, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", "", err
	}
	two, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", "", errors.Join(err, one.Close())
	}
	return one.Addr().String(), two.Addr().String(), errors.Join(one.Close(), two.Close())
}

var writing sync.Mutex

func addLine(path string, text []byte) error {
	writing.Lock()
	defer writing.Unlock()
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(append(text, '\n'))
	return errors.Join(err, file.Close())
}
