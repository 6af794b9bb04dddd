package conformance

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	"rpclab/api/studies/ladder"
	"rpclab/internal/language"
)

// TestServersAnswerTheMessagesOfTheLadderStudy starts the servers that `rpclab lab up ladder` starts.
func TestServersAnswerTheMessagesOfTheLadderStudy(t *testing.T) {
	const body = `{"customerId": "AAABBB", "createdAt": "2025-04-28T22:47:00+02:00", "paymentMethod": "CREDIT_CARD", "articles": [{"id": "0", "quantity": 1, "unitPrice": 10.5}]}`
	eachServerOf(t, []string{language.Go, "java"}, func(t *testing.T, m language.Model, command []string) {
		addr := free(t)
		start(t, addr, append(command, "--listen", addr, "--id", "b", "--published")...)
		switch c := contactTo(t, m, addr).(type) {
		case overREST:
			code, id, said, err := c.ask(t.Context(), "POST", "/orders", []byte(body))
			if code != 200 || id != "b" || err != nil || !strings.Contains(string(said), `"value":"`) {
				t.Errorf("POST /orders: status %d of %q: %s %v; want a UUID as value", code, id, said, err)
			}
		case overGRPC:
			order := &ladder.OrderRequest{CustomerId: "AAABBB", Articles: []*ladder.OrderedArticle{{Id: "0", Quantity: 1, UnitPrice: 10.5}}}
			if reply, err := ladder.NewOrderServiceClient(c.channel).PlaceOrder(t.Context(), order); err != nil || uuid.Validate(reply.GetId()) != nil {
				t.Errorf("PlaceOrder: %v, %v; want a UUID", reply, err)
			}
			order.Articles[0].Quantity = 0
			if reply, err := ladder.NewOrderServiceClient(c.channel).PlaceOrder(t.Context(), order); err == nil {
				t.Errorf("an order of 0 is answered %v", reply)
			}
		}
		answersEveryWorkload(t, m, addr)
	})
}
