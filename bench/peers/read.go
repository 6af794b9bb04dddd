package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

func readRpclab(r report) (outcome, error) {
	var document struct {
		Arms []struct {
			Calls   int            `json:"calls"`
			Errors  map[string]int `json:"errors"`
			Latency struct {
				P50 float64 `json:"p50"`
				P90 float64 `json:"p90"`
				P99 float64 `json:"p99"`
			} `json:"latency_ms"`
			Lateness struct {
				P99 float64 `json:"p99"`
			} `json:"lateness_ms"`
			Resources struct {
				Client struct {
					CPU float64 `json:"cpu_us_per_call"`
				} `json:"client"`
			} `json:"resources"`
		} `json:"arms"`
	}
	if err := json.Unmarshal(r.file, &document); err != nil {
		return outcome{}, err
	}
	if len(document.Arms) != 1 {
		return outcome{}, fmt.Errorf("the result has %d arms, want 1", len(document.Arms))
	}
	arm := document.Arms[0]
	for _, n := range arm.Errors {
		arm.Calls -= n
	}
	return outcome{
		answered: arm.Calls, p50: milliseconds(arm.Latency.P50), p90: milliseconds(arm.Latency.P90), p99: milliseconds(arm.Latency.P99), late: milliseconds(arm.Lateness.P99),
		perCall: milliseconds(arm.Resources.Client.CPU / 1000),
	}, nil
}

func readWirebench(r report) (outcome, error) {
	var document struct {
		Calls  int            `json:"calls"`
		Errors map[string]int `json:"errors"`
		P90    float64        `json:"p90_ms"`
		P99    float64        `json:"p99_ms"`
	}
	if err := json.Unmarshal(r.stdout, &document); err != nil {
		return outcome{}, err
	}
	for _, n := range document.Errors {
		document.Calls -= n
	}
	return outcome{answered: document.Calls, p90: milliseconds(document.P90), p99: milliseconds(document.P99)}, nil
}

func readGhz(r report) (outcome, error) {
	var document struct {
		Codes        map[string]int `json:"statusCodeDistribution"`
		Distribution []struct {
			Percentage int           `json:"percentage"`
			Latency    time.Duration `json:"latency"`
		} `json:"latencyDistribution"`
	}
	if err := json.Unmarshal(r.stdout, &document); err != nil {
		return outcome{}, err
	}
	got := outcome{answered: document.Codes["OK"]}
	for _, d := range document.Distribution {
		switch d.Percentage {
		case 50:
			got.p50 = d.Latency
		case 90:
			got.p90 = d.Latency
		case 99:
			got.p99 = d.Latency
		}
	}
	return got, nil
}

func readFortio(r report) (outcome, error) {
	var document struct {
		RetCodes          map[string]int
		DurationHistogram struct {
			Percentiles []struct{ Percentile, Value float64 }
		}
	}
	if err := json.Unmarshal(r.file, &document); err != nil {
		return outcome{}, err
	}
	got := outcome{answered: document.RetCodes["SERVING"]}
	for _, p := range document.DurationHistogram.Percentiles {
		switch p.Percentile {
		case 90:
			got.p90 = milliseconds(p.Value * 1000)
		case 99:
			got.p99 = milliseconds(p.Value * 1000)
		}
	}
	return got, nil
}

func readK6(r report) (outcome, error) {
	var document struct {
		Metrics struct {
			Answered struct {
				Count int `json:"count"`
			} `json:"answered"`
			Duration map[string]float64 `json:"grpc_req_duration"`
			HTTP     map[string]float64 `json:"http_req_duration"`
		} `json:"metrics"`
	}
	if err := json.Unmarshal(r.file, &document); err != nil {
		return outcome{}, err
	}
	duration := document.Metrics.Duration
	if duration == nil {
		duration = document.Metrics.HTTP
	}
	return outcome{answered: document.Metrics.Answered.Count, p50: milliseconds(duration["p(50)"]), p90: milliseconds(duration["p(90)"]), p99: milliseconds(duration["p(99)"])}, nil
}

var succeeded = regexp.MustCompile(`(\d+) succeeded`)

// readH2load computes percentiles from the log, whose lines are start, status and duration in
// microseconds.
func readH2load(r report) (got outcome, err error) {
	count := succeeded.FindSubmatch(r.stdout)
	if count == nil {
		return got, fmt.Errorf("the output of h2load has no number of requests: %.200s", r.stdout)
	}
	if got.answered, err = strconv.Atoi(string(count[1])); err != nil || len(r.file) == 0 {
		return got, err
	}
	var latencies []int
	for line := range bytes.Lines(r.file) {
		columns := strings.Fields(string(line))
		if len(columns) < 3 {
			return got, fmt.Errorf("h2load's log has the line %q, want start, status and duration", line)
		}
		micros, err := strconv.Atoi(columns[2])
		if err != nil {
			return got, fmt.Errorf("h2load's log: %w", err)
		}
		latencies = append(latencies, micros)
	}
	slices.Sort(latencies)
	got.p50 = time.Duration(latencies[len(latencies)*50/100]) * time.Microsecond
	got.p90 = time.Duration(latencies[len(latencies)*90/100]) * time.Microsecond
	got.p99 = time.Duration(latencies[len(latencies)*99/100]) * time.Microsecond
	return got, nil
}

func milliseconds(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }
