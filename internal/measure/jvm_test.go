package measure

import (
	"encoding/binary"
	"testing"
	"time"
)

// counter is a number of a HotSpot machine.
type counter struct {
	name  string
	value uint64
}

// perfData encodes counters as a HotSpot machine does, after one that is a text.
func perfData(order binary.AppendByteOrder, counters ...counter) []byte {
	little := byte(0)
	if order.String() == "LittleEndian" {
		little = 1
	}
	data := append([]byte{0xca, 0xfe, 0xc0, 0xc0, little, 2, 0, 1}, make([]byte, 16)...)
	data = order.AppendUint32(data, 32)
	data = order.AppendUint32(data, uint32(1+len(counters)))
	entry := func(name string, vector uint32, kind byte, value []byte) {
		text := append([]byte(name), 0)
		for len(text)%8 != 4 { // the header has 20 bytes, and numbers stand at multiples of 8
			text = append(text, 0)
		}
		data = order.AppendUint32(data, uint32(20+len(text)+len(value)))
		data = order.AppendUint32(data, 20)
		data = order.AppendUint32(data, vector)
		data = append(data, kind, 0, 0, 0)
		data = order.AppendUint32(data, uint32(20+len(text)))
		data = append(append(data, text...), value...)
	}
	entry("java.rt.vmFlags", 8, 'B', []byte("-Xmx64m\x00"))
	for _, c := range counters {
		entry(c.name, 0, 'J', order.AppendUint64(nil, c.value))
	}
	return data
}

var machine = []counter{
	{"sun.gc.collector.0.time", 30_000}, {"sun.gc.collector.1.time", 12_000}, {"sun.gc.collector.0.invocations", 9},
	{"java.ci.totalTime", 500_000}, {"sun.os.hrt.frequency", 1_000_000},
}

func TestTimesOfAJavaVirtualMachine(t *testing.T) {
	want := JVMTimes{Collecting: 42 * time.Millisecond, Compiling: 500 * time.Millisecond}
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		if got, ok := jvmTimes(perfData(order, machine...)); !ok || got != want {
			t.Errorf("%s: %+v, %t; want %+v", order, got, ok, want)
		}
	}
}

// A machine may write, or end, while its counters are read.
func TestIncompleteCountersOfAMachine(t *testing.T) {
	whole := perfData(binary.LittleEndian, machine...)
	for length := range whole {
		if got, ok := jvmTimes(whole[:length]); ok {
			t.Errorf("the first %d of %d bytes have the times %+v", length, len(whole), got)
		}
	}
	if got, ok := jvmTimes(perfData(binary.LittleEndian, machine[:4]...)); ok {
		t.Errorf("without the length of a tick the times are %+v", got)
	}
	for at := range whole {
		damaged := append([]byte(nil), whole...)
		damaged[at] = 0xff
		jvmTimes(damaged) // does not panic
	}
}

func TestTimesOfSeveralMachines(t *testing.T) {
	before := map[int]JVMTimes{7: {time.Second, 2 * time.Second}}
	after := map[int]JVMTimes{7: {3 * time.Second, 2 * time.Second}, 9: {time.Second, time.Second}}
	if got := JVMTimesSince(before, after); got == nil || *got != (JVMTimes{3 * time.Second, time.Second}) {
		t.Errorf("%+v", got)
	}
	for name, got := range map[string]*JVMTimes{"no machines": JVMTimesSince(nil, nil), "a machine that ended": JVMTimesSince(before, map[int]JVMTimes{9: {}})} {
		if got != nil {
			t.Errorf("%s: %+v, want unknown", name, *got)
		}
	}
}
