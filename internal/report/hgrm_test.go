package report

import (
	"bytes"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"rpclab/internal/result"
)

func TestLongNamesOfHgrmFilesAreCut(t *testing.T) {
	d := channels()
	names := map[string]bool{}
	for i := range d.Arms {
		d.Arms[i].Cell = result.Cell{"caller.service_config": strings.Repeat("ü", 150), "load.burst": i}
	}
	for _, distribution := range Distributions(d) {
		if len(distribution.Name+".hgrm") > 255 || names[distribution.Name] || !utf8.ValidString(distribution.Name) {
			t.Errorf("the name %q is too long for a file, not unique or not UTF-8", distribution.Name)
		}
		names[distribution.Name] = true
	}
	if len(names) == 0 {
		t.Error("no arm has a distribution")
	}
}

func TestArmsWithSimilarNamesHaveHgrmFilesOfTheirOwn(t *testing.T) {
	d := channels()
	for i, name := range []string{"a b", "a/b"} {
		d.Arms[i].Name, d.Arms[i].Cell = name, nil
	}
	all := Distributions(d)
	if len(all) < 2 || all[0].Name != "a_b" || !strings.HasPrefix(all[1].Name, "a_b-") {
		t.Errorf("the distributions are %+v, want a_b and a_b with a checksum", all)
	}
}

func TestHgrmHasThePercentilesOfEachArm(t *testing.T) {
	d := channels()
	for i := range d.Arms {
		values := hdr.NewPacked(1, int64(time.Hour), 3)
		for n := range 1000 {
			if err := values.RecordValue(int64(i+1) * int64(n+1) * int64(time.Millisecond)); err != nil {
				t.Fatal(err)
			}
		}
		d.Arms[i].Latency = result.FromHDR(values)
	}
	all := Distributions(d)
	if len(all) != len(d.Arms) {
		t.Fatalf("%d distributions of %d arms", len(all), len(d.Arms))
	}
	names := map[string]bool{}
	for i, distribution := range all {
		if names[distribution.Name] || strings.ContainsAny(distribution.Name, "/ ") {
			t.Errorf("the name %q is not unique, or no name of a file", distribution.Name)
		}
		names[distribution.Name] = true
		var out bytes.Buffer
		if err := distribution.Write(&out); err != nil {
			t.Fatal(err)
		}
		rows := 0
		for line := range strings.Lines(out.String()) {
			fields := strings.Fields(line)
			if len(fields) != 4 || strings.HasPrefix(line, "#") || fields[0] == "Value" {
				continue
			}
			rows++
			value, err := strconv.ParseFloat(fields[0], 64)
			if fields[1] == "0.500000" && (err != nil || value < d.Arms[i].Latency.P50*0.99 || value > d.Arms[i].Latency.P50*1.01) {
				t.Errorf("%s: the median is %s ms, want %g", distribution.Name, fields[0], d.Arms[i].Latency.P50)
			}
		}
		if head := " Value\tPercentile\tTotalCount\t1/(1-Percentile)\n"; rows < 5 || !strings.HasPrefix(out.String(), head) || !strings.Contains(out.String(), "#[Mean ") {
			t.Errorf("%s has %d rows:\n%.300s", distribution.Name, rows, out.String())
		}
	}
	d.Arms[0].Latency = result.Histogram{}
	if all := Distributions(d); len(all) != len(d.Arms)-1 {
		t.Errorf("%d distributions, want none of an arm without latency", len(all))
	}
}
