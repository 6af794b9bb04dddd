package draft_test

import (
	"strings"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/protobuf/reflect/protoreflect"

	"rpclab/internal/experiment"
	"rpclab/internal/lab"
	"rpclab/internal/service/data"
	"rpclab/internal/service/draft"
	"rpclab/internal/service/method"
	"rpclab/internal/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestADraftIsAServiceFileWithMessagesOfEachMethod requires that a draft is valid as it is written.
func TestADraftIsAServiceFileWithMessagesOfEachMethod(t *testing.T) {
	source, err := method.FromProto(t.Context(), []string{"testdata/everything.proto"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var services []protoreflect.ServiceDescriptor
	for _, name := range []string{"shop.v1.OrderHTTPService", "shop.v1.Other"} {
		found, err := source.Service(t.Context(), name)
		if err != nil || found == nil {
			t.Fatalf("service %s: %v, %v", name, found, err)
		}
		services = append(services, found)
	}
	text, err := draft.Service{
		Command: "rpclab init 127.0.0.1:1", Addresses: []string{"127.0.0.1:1", "127.0.0.2:1"}, Methods: draft.Usable(services),
		Proto: []string{"testdata/everything.proto"}, Metadata: [][2]string{{"tenant", "5"}, {"x-tag", "a"}, {"X-Tag", "b"}}, Authority: "shop",
	}.Write()
	if err != nil {
		t.Fatal(err)
	}
	testkit.Golden(t, "everything.yaml", string(text))
	read, err := experiment.ReadService(experiment.ServiceDocument{File: "orders.yaml", Text: text}, lab.Vocabulary())
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	for _, call := range read.Calls {
		found, err := method.Find(t.Context(), source, call.Method)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := data.JSON(call.Name, []byte(call.Data), found.Input()); err != nil {
			t.Error(err)
		}
	}
	if got := read.Calls[0].Name; got != "get-order" {
		t.Errorf("the first call is %s, want get-order, which reads", got)
	}
	uncommented := strings.NewReplacer("  addresses: ['127.0.0.1:1', '127.0.0.2:1']\n", "", "  # command:", "  command:", "  # replicas:", "  replicas:").Replace(string(text))
	if read, err = experiment.ReadService(experiment.ServiceDocument{File: "orders.yaml", Text: []byte(uncommented)}, lab.Vocabulary()); err != nil || read.Server.Replicas != 3 {
		t.Errorf("the draft with a command in place of addresses: %v\n%s", err, uncommented)
	}
}
