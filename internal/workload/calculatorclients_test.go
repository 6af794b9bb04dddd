package workload

import (
	"context"
	"testing"
	"testing/synctest"
)

// A broken stream holds a response that precedes the queued responses. The next stream must wait
// until the broken stream has put the response back.
func TestANewStreamWaitsForTheResponseOfABrokenStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all calculatorClients
		client := all.get("me")
		for _, answer := range []string{"first", "second"} {
			if err := client.queue(t.Context(), []byte(answer)); err != nil {
				t.Fatal(err)
			}
		}
		ctx, end := context.WithCancel(t.Context())
		left := all.listen(ctx, client)
		unsent := client.next(ctx, nil)
		end()

		var got []string
		go func() {
			defer all.listen(t.Context(), client)()
			for range 2 {
				got = append(got, string(client.next(t.Context(), nil)))
			}
		}()
		synctest.Wait()
		if len(got) > 0 {
			t.Errorf("the new stream receives %q before the broken stream has ended, want nothing", got)
		}
		client.putBack(unsent)
		left()
		synctest.Wait()
		if len(got) != 2 || got[0] != "first" || got[1] != "second" {
			t.Errorf("the responses are %q, want first and second", got)
		}
	})
}

func TestAStreamDoesNotWaitForAnotherOpenStream(t *testing.T) {
	var all calculatorClients
	client := all.get("me")
	defer all.listen(t.Context(), client)()
	defer all.listen(t.Context(), client)()
	if !client.begin() {
		t.Error("a client with two response streams cannot begin a call, want it to")
	}
}
