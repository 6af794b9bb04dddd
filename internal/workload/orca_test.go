package workload_test

import (
	"testing"

	orcav3 "github.com/cncf/xds/go/xds/data/orca/v3"
	"google.golang.org/protobuf/proto"

	"rpclab/internal/workload"
)

const loadReport = "endpoint-load-metrics-bin"

func TestAServerReportsItsLoadInEveryAnswer(t *testing.T) {
	channel, _, _ := serve(t, &workload.Server{ID: "b", ReportLoad: true})
	_, trailer, err := greet(t.Context(), channel)
	if err != nil {
		t.Fatal(err)
	}
	var report orcav3.OrcaLoadReport
	if err := proto.Unmarshal([]byte(trailer.Get(loadReport)[0]), &report); err != nil {
		t.Fatal(err)
	}
	if report.ApplicationUtilization <= 0 || report.RpsFractional <= 0 || report.Eps != 0 {
		t.Errorf("the load report is %v, want utilization and calls/s above 0 and no errors: clients compute weights from them", &report)
	}
}

func TestAServerReportsNoLoadByDefault(t *testing.T) {
	channel, _, _ := serve(t, &workload.Server{ID: "b"})
	_, trailer, err := greet(t.Context(), channel)
	if err != nil || len(trailer.Get(loadReport)) > 0 {
		t.Errorf("the trailer is %v, %v; want no load report", trailer, err)
	}
}
