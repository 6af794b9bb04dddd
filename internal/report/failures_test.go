package report

import (
	"fmt"
	"testing"

	"rpclab/internal/result"
	"rpclab/internal/result/failure"
)

func TestMessagesTellLimitsApart(t *testing.T) {
	const code = "UNAVAILABLE"
	of := func(calls uint64, reasons ...failure.Reason) result.Arm {
		return result.Arm{Measures: result.Measures{Errors: map[string]uint64{code: calls},
			Samples: map[string]string{code: reasons[0].Message}, Reasons: map[string][]failure.Reason{code: reasons}}}
	}
	files, ports := failure.Reason{Message: "socket: too many open files", Calls: 1986}, failure.Reason{Message: "cannot assign requested address", Calls: 2100}
	both := of(4086, files, ports)
	older := both
	older.Reasons, older.Trials = nil, []result.Trial{{Measures: of(1, files).Measures}, {Measures: of(1, ports).Measures}}
	var many []failure.Reason
	for i := range failure.Most {
		many = append(many, failure.Reason{Message: fmt.Sprint(i), Calls: 1})
	}
	for _, test := range []struct {
		arm  result.Arm
		want string
	}{
		{of(1986, files), ", first: “socket: too many open files” (too many open files)"},
		{both, ": 2,100 “cannot assign requested address” (no free local port); 1,986 “socket: too many open files” (too many open files)"},
		{older, ", first: “socket: too many open files” (too many open files); in other rounds “cannot assign requested address” (no free local port)"},
		{of(9, many...), ": 1 “0”; 1 “1”; 1 “2”; 1 “3”; 1 “4”; 4 with other messages"},
		{result.Arm{}, ""},
	} {
		if got := Messages(test.arm, code); got != test.want {
			t.Errorf("%s\nwant\n%s", got, test.want)
		}
	}
}
