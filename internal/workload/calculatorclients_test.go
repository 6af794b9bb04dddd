package workload

import (
	"context"
	"testing"
	"testing/synctest"
)

// A stream that breaks has an answer in hand, which is earlier than those in line: the
// stream that follows it must not overtake.
func TestANewStreamWaitsForResponsesOfABrokenOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all calculatorClients
		me := all.get("me")
		for _, answer := range []string{"first", "second"} {
			if err := me.queue(t.Context(), []byte(answer)); err != nil {
				t.Fatal(err)
			}
		}
		ctx, end := context.WithCancel(t.Context())
		left := all.listen(ctx, me)
		inHand := me.next(ctx, nil)
		end()

		var got []string
		go func() {
			defer all.listen(t.Context(), me)()
			for range 2 {
				got = append(got, string(me.next(t.Context(), nil)))
			}
		}()
		synctest.Wait()
		if len(got) > 0 {
			t.Errorf("it takes %q before the broken stream has left", got)
		}
		me.putBack(inHand)
		left()
		synctest.Wait()
		if len(got) != 2 || got[0] != "first" || got[1] != "second" {
			t.Errorf("the answers come as %q", got)
		}
	})
}

// Two streams that listen at once share the answers: neither waits for the other.
func TestConcurrentStreamsShareTheResponses(t *testing.T) {
	var all calculatorClients
	me := all.get("me")
	defer all.listen(t.Context(), me)()
	defer all.listen(t.Context(), me)()
	if !me.begin() {
		t.Error("no stream takes its answers")
	}
}
