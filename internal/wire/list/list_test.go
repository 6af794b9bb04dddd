package list_test

import (
	"slices"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"rpclab/internal/wire/list"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type item struct {
	name int
	link list.Link[item]
}

// Items are pushed and removed in a random order.
func TestAListBehavesLikeASlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var lists [2]list.List[item]
		var want [2][]*item
		items := make([]item, 8)
		for i := range items {
			items[i].name = i
		}
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			one := &items[rapid.IntRange(0, len(items)-1).Draw(t, "item")]
			which := rapid.IntRange(0, 1).Draw(t, "list")
			if one.link.In(nil) {
				lists[which].PushBack(one, &one.link)
				want[which] = append(want[which], one)
			} else {
				one.link.Remove()
				one.link.Remove() // it is in no list
				for i := range want {
					want[i] = slices.DeleteFunc(want[i], func(other *item) bool { return other == one })
				}
			}
			for i := range lists {
				var got []*item
				for one := lists[i].Front(); one != nil; one = one.link.Next() {
					got = append(got, one)
					if !one.link.In(&lists[i]) || one.link.In(&lists[1-i]) {
						t.Fatalf("item %d does not report that it is in list %d", one.name, i)
					}
				}
				if !slices.Equal(got, want[i]) || lists[i].Len() != len(want[i]) {
					t.Fatalf("list %d has %d items, %v; want %v", i, lists[i].Len(), got, want[i])
				}
			}
		}
	})
}
