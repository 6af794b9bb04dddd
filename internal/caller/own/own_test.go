package own

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"rpclab/internal/caller"
	"rpclab/internal/caller/callertest"
	"rpclab/internal/measure"
	"rpclab/internal/pace"
	"rpclab/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// ready is the beginning of a shell script that is a client. Its functions write outcomes.
const ready = `read job; echo '{"ready": true}'
at() { date +%s%N; }
answer() { t=$(at); echo "{\"call\": $1, \"sent\": $t, \"done\": $((t + 5000000)) $2}"; }
`

func script(text string) caller.Job {
	return caller.Job{Timeout: time.Second, Command: &caller.Command{Args: []string{"sh", "-c", text}, Call: "get", ReadyTimeout: time.Minute}}
}

var target = caller.Target{URI: "passthrough:///127.0.0.1:1", PortableURI: "127.0.0.1:1"}

func TestOutcomesAreRecorded(t *testing.T) {
	session := callertest.Open(t, Caller{}, script(ready+`
while read n; do
  case $n in
  0) answer 0 ', "backend": "b1"';;
  1) answer 1 ', "code": "CHECK", "message": "too few"';;
  2) answer 2 ', "code": 14';;
  *) answer $n;;
  esac
done`), target)
	m := callertest.Load(t, session, pace.Sequence(3))
	if m.Calls != 3 || m.Backends["b1"] != 1 || m.Errors["CHECK"] != 1 || m.Errors["UNAVAILABLE"] != 1 || m.Samples["CHECK"] != "too few" {
		t.Errorf("%d calls, backends %v, errors %v, samples %v; want one of b1, one CHECK and one UNAVAILABLE", m.Calls, m.Backends, m.Errors, m.Samples)
	}
	m = callertest.Load(t, session, pace.Burst{Calls: 10}) // of the next numbers
	service, err := measure.MergeHistograms([]string{m.Service})
	if err != nil || m.Calls != 10 || len(m.Errors) > 0 || service.Min() < 4_900_000 || service.Max() > 5_100_000 {
		t.Errorf("%d calls, errors %v, service time %v to %v (error %v); want 10 calls of the 5 ms that the client measured", m.Calls, m.Errors, service.Min(), service.Max(), err)
	}
}

// Callers that share a load have a client each. No two clients make the call of the same number.
func TestClientsOfSeveralCallersHaveDifferentNumbers(t *testing.T) {
	seen := map[string]int{}
	for n := range uint64(2) {
		file := filepath.Join(t.TempDir(), "numbers")
		job := script(ready + `while read n; do echo $n >>"$FILE"; answer $n; done`)
		job.Command.Env, job.Command.Caller, job.Command.Callers = []string{"FILE=" + file}, n, 2
		session := callertest.Open(t, Caller{}, job, target)
		for range 2 { // the second load has the next numbers
			if m := callertest.Load(t, session, pace.Sequence(3)); m.Calls != 3 || len(m.Errors) > 0 {
				t.Errorf("%d calls, errors %v, want 3 calls", m.Calls, m.Errors)
			}
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for number := range strings.FieldsSeq(string(text)) {
			seen[number]++
		}
	}
	if len(seen) != 12 || seen["0"] != 1 || seen["11"] != 1 {
		t.Errorf("the clients have the numbers %v, want 0 to 11 once", seen)
	}
}

func TestTheJobSaysWhatToCall(t *testing.T) {
	file := t.TempDir() + "/job"
	job := script(`read job; echo "$job" >"$FILE"; echo '{"ready": true}'; while read n; do :; done`)
	job.Command.Env = []string{"FILE=" + file}
	callertest.Open(t, Caller{}, job, target)
	text, err := os.ReadFile(file)
	if want := `{"target":"127.0.0.1:1","call":"get","timeout_ns":1000000000}` + "\n"; err != nil || string(text) != want {
		t.Errorf("the job is %s (error %v), want %s", text, err, want)
	}
}

func TestCallsOfAClientThatExitsAreLost(t *testing.T) {
	const dies = ready + `for i in 1 2 3; do read n; answer $n; done; read n; echo out of memory >&2; exit 3`
	const said = "the client sh ended unexpectedly: exit status 3; its last lines:\n  out of memory"
	for name, plan := range map[string]pace.Pace{
		"open":   pace.Rate{PerSecond: 200, Duration: 200 * time.Millisecond, Max: 100},
		"closed": pace.Closed{Users: 2, Calls: 40},
	} {
		session := callertest.Open(t, Caller{}, script(dies), target)
		m := callertest.Load(t, session, plan)
		if lost := m.Errors[clientExited]; lost != 37 || m.Calls != 40 {
			t.Errorf("%s: %d of %d calls are %s, want 37 of 40", name, lost, m.Calls, clientExited)
		}
		if got := m.Samples[clientExited]; !strings.Contains(got, said) {
			t.Errorf("%s: the message is %q, want the client's end and its last lines", name, got)
		}
	}
	session := callertest.Open(t, Caller{}, script(dies), target)
	_, _, err := session.Run(t.Context(), pace.Closed{Users: 2, Duration: time.Minute}, measure.StartSignal{})
	if err == nil || !strings.Contains(err.Error(), said) {
		t.Errorf("closed for a minute: error %v, want the client's end and its last lines", err)
	}
}

// A closed load ends with the client. Its other calls are then both lost and cancelled.
func TestACallThatIsCancelledSinceTheClientExitedIsLost(t *testing.T) {
	s := &session{calls: newCalls(caller.Command{}), timeout: time.Minute}
	s.calls.end(errors.New("it exited"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 100 {
		if o := s.call(ctx); o.Code != clientExited {
			t.Fatalf("the call is %s, want %s", o.Code, clientExited)
		}
	}
}

// Otherwise a warm-up, which ends when its calls do, would wait for them without end.
func TestACallThatTheClientNeverAnswersIsLost(t *testing.T) {
	for name, text := range map[string]string{"reads": ready + `while read n; do :; done`, "does not read": ready + `sleep 60`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			job := script(text)
			job.Timeout = 100 * time.Millisecond
			m := callertest.Load(t, callertest.Open(t, Caller{}, job, target), pace.Burst{Calls: 1})
			if said, want := m.Samples["DEADLINE_EXCEEDED"], "the client wrote no outcome of call 0 within 2.1s"; m.Calls != 1 || !strings.HasPrefix(said, want) {
				t.Errorf("%d calls, errors %v, the message is %q; want one DEADLINE_EXCEEDED: %s", m.Calls, m.Errors, said, want)
			}
		})
	}
}

// Every call of a client in Python has an outcome, whatever the client does.
func TestClientsInPythonAnswerEveryCall(t *testing.T) {
	job := script("")
	job.Command.Args = []string{"python3", "-c", `
import rpclab_client, sys

def make(call):
    call.backend = b"x"
    if call.number == 1:
        sys.exit("no more")
    if call.number == 2:
        raise rpclab_client.Error("TOO_FEW", "2 items")

rpclab_client.run(lambda job: make)`}
	job.Command.Env = []string{"PYTHONPATH=../../../python", "PYTHONDONTWRITEBYTECODE=1"}
	m := callertest.Load(t, callertest.Open(t, Caller{}, job, target), pace.Sequence(3))
	if m.Calls != 3 || m.Backends["b'x'"] == 0 || m.Samples["UNKNOWN"] != "no more" || m.Samples["TOO_FEW"] != "2 items" {
		t.Errorf("%d calls, backends %v, errors %v, samples %v; want b'x', one UNKNOWN and one TOO_FEW", m.Calls, m.Backends, m.Errors, m.Samples)
	}
}

func TestErrorsOfClientsThatAreNotReady(t *testing.T) {
	for name, c := range map[string]struct{ script, want string }{
		"exits":    {`echo no key >&2; exit 1`, "the client sh ended unexpectedly: exit status 1; its last lines:\n  no key"},
		"nonsense": {`echo hello; read stay`, `the client sh: it wrote "hello" to standard output, where rpclab reads {"ready": true}: write logs to standard error`},
		"error":    {`read job; echo '{"error": "no route"}'; read stay`, "the client sh: no route"},
		"silent":   {`echo loading >&2; read job; read stay`, `the client sh: it was not ready within 100ms: it has to write {"ready": true} to standard output, or set caller.ready_timeout`},
	} {
		job := script(c.script)
		if name == "silent" {
			job.Command.ReadyTimeout = 100 * time.Millisecond
		}
		if _, err := (Caller{}).Open(job, target); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: error %q, want %q", name, err, c.want)
		}
	}
}

func TestNonsenseInsteadOfAnOutcomeIsAnError(t *testing.T) {
	now := time.Now().Add(time.Minute).UnixNano() // after each call has begun
	for line, want := range map[string]string{
		`hello`:      `it wrote "hello" to standard output, where rpclab reads an outcome such as {"call": 7`,
		`{"call":0}`: `where rpclab reads sent and done in nanoseconds since 1970, sent first`,
		`{"call":0,"code":"not found","sent":1,"done":2}`:                        `a code of capital letters, digits and _`,
		`{"call":0,"code":null,"sent":1,"done":2,"message":null}`:                `before rpclab wrote its number: sent and done are nanoseconds since 1970`, // OK
		`{"call":0,"code":[],"sent":1,"done":2}`:                                 `a code such as "UNAVAILABLE" or 14`,
		`{"call":0,"sent":1,"done":2}`:                                           `before rpclab wrote its number: sent and done are nanoseconds since 1970`,
		fmt.Sprintf(`{"call":0,"sent":%d,"done":%d}`, now, now+int64(time.Hour)): `after rpclab read this: sent and done are nanoseconds since 1970`,
		strings.Repeat("x", maxLine+1):                                           `lines of at most 64 KiB`,
	} {
		job := script(ready + `read n; printf '%s' "$LINE"; echo; echo at a loss >&2; read stay`)
		job.Command.Env = []string{"LINE=" + line}
		session := callertest.Open(t, Caller{}, job, target)
		if _, _, err := session.Run(t.Context(), pace.Sequence(5), measure.StartSignal{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the line %.50q: error %v, want %q", line, err, want)
		}
	}
}

// Calls would be counted wrongly, or not at all.
func TestOutcomesThatNoCallHasAreErrors(t *testing.T) {
	for name, c := range map[string]struct{ script, want string }{
		"second":    {`read n; answer $n; answer $n ', "code": 13'; read stay`, "the client sh: it wrote a second outcome of call 0: write one line for each call"},
		"not yet":   {`read n; answer 70; read stay`, "the client sh: it wrote an outcome of call 70, which was never due: write the number that rpclab wrote"},
		"another's": {`read n; answer 1; read stay`, "it wrote an outcome of call 1, which was never due"},
	} {
		job := script(ready + c.script)
		job.Command.Callers = 2
		session := callertest.Open(t, Caller{}, job, target)
		if _, _, err := session.Run(t.Context(), pace.Sequence(100), measure.StartSignal{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
}

// A client may be late once with a call that is lost already.
func TestALostCallHasOneOutcomeToo(t *testing.T) {
	c := newCalls(caller.Command{})
	n, _ := c.begin()
	c.forget(n)
	if err := c.answer(outcome{Call: n}); err != nil {
		t.Errorf("the first outcome: error %v, want none", err)
	}
	if err := c.answer(outcome{Call: n}); err == nil {
		t.Error("the second outcome is no error")
	}
}

func TestAnOutcomeAfterTheEndOfItsLoadIsIgnored(t *testing.T) {
	// The client answers the first call only after it has read the second.
	seen := filepath.Join(t.TempDir(), "seen")
	job := script(ready + `read first; : >"$SEEN"; read second; answer $first ', "backend": "late"'; answer $second; while read n; do answer $n; done`)
	job.Command.Env = []string{"SEEN=" + seen}
	session := callertest.Open(t, Caller{}, job, target)
	ctx, cancel := context.WithCancel(t.Context())
	var cancelled sync.WaitGroup
	cancelled.Go(func() {
		defer cancel()
		testkit.Await(t, "the client reads the first call", func() bool { _, err := os.Stat(seen); return err == nil })
	})
	recorder, _, err := session.Run(ctx, pace.Sequence(1), measure.StartSignal{})
	cancelled.Wait()
	if err != nil {
		t.Fatal(err)
	}
	if m, err := recorder.Measurement(); err != nil || m.Errors["CANCELLED"] != 1 {
		t.Errorf("errors %v (error %v), want 1 CANCELLED", m.Errors, err)
	}
	if m := callertest.Load(t, session, pace.Sequence(2)); m.Calls != 2 || m.Backends["late"] != 0 || len(m.Errors) > 0 {
		t.Errorf("the next load has %d calls, backends %v, errors %v; want 2 calls without the late answer", m.Calls, m.Backends, m.Errors)
	}
}

// A client cannot use the dialer of a route: it would call one backend for ever, also after that has exited.
func TestARouteThatDialsItselfIsRefused(t *testing.T) {
	dials := target
	dials.Dial = func(context.Context, string) (net.Conn, error) { return nil, nil }
	if _, err := (Caller{}).Open(script(ready), dials); err == nil || !strings.Contains(err.Error(), "only rpclab's callers in Go support this route") {
		t.Errorf("error %v, want that the route is refused", err)
	}
}
