package report

import (
	"crypto/md5"
	"fmt"
	"io"
	"strings"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"rpclab/internal/result"
)

// hgrmTicks is the number of lines for each halving of the distance to 100 %, as HdrHistogram's own tools write.
const hgrmTicks = 5

// Distribution is the latency of an arm, by a name that is unique in its run.
type Distribution struct {
	Name    string
	latency result.Histogram
}

// Distributions are the latencies of the arms of a run that measured any.
func Distributions(d result.Document) (all []Distribution) {
	taken := map[string]bool{}
	for _, arm := range d.Arms {
		if arm.Latency.Empty() {
			continue
		}
		name := benchmarkWord(arm.Name)
		if cell := arm.Cell.String(); cell != "" {
			name += "-" + benchmarkWord(cell)
		}
		if taken[shortFileName(name)] { // arms "a b" and "a/b"
			name += checksum(arm.Name + "\n" + arm.Cell.String())
		}
		name = shortFileName(name)
		taken[name] = true
		all = append(all, Distribution{name, arm.Latency})
	}
	return all
}

// shortFileName returns a name as it is, or its start and a checksum if file systems might not accept it.
func shortFileName(name string) string {
	const longest = 200 // bytes; file systems allow 255, which includes the extension
	if len(name) <= longest {
		return name
	}
	sum := checksum(name)
	return strings.ToValidUTF8(name[:longest-len(sum)], "") + sum // a rune may be cut
}

// checksum tells names apart: -0123abcd.
func checksum(text string) string { return fmt.Sprintf("-%x", md5.Sum([]byte(text)))[:9] }

// Write writes the percentiles in milliseconds, in the format .hgrm of HdrHistogram (hdrhistogram.github.io/HdrHistogram/plotFiles.html).
func (d Distribution) Write(w io.Writer) error {
	values, err := hdr.Decode([]byte(d.latency.HDR))
	if err != nil {
		return fmt.Errorf("the latency of %s: %w", d.Name, err)
	}
	_, err = values.PercentilesPrint(w, hgrmTicks, 1e6)
	return err
}
