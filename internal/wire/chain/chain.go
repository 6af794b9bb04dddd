// Package chain is a doubly linked list whose links are fields of what it lists, so
// that nothing is allocated.
package chain

// List lists items in the order in which they were pushed. Its zero value is empty.
type List[T any] struct {
	first, last *Link[T]
	n           int
}

// Link is an item's place in one list at a time. It must not be copied while it is in
// one. Its zero value is in none.
type Link[T any] struct {
	prev, next *Link[T]
	list       *List[T]
	item       *T
}

// Push puts an item at the end by a link of its own that is in no list.
func (l *List[T]) Push(item *T, by *Link[T]) {
	by.prev, by.list, by.item = l.last, l, item
	if l.last != nil {
		l.last.next = by
	} else {
		l.first = by
	}
	l.last = by
	l.n++
}

// First is the item that was pushed first of those that are left, nil of none.
func (l *List[T]) First() *T {
	if l.first == nil {
		return nil
	}
	return l.first.item
}

// Len is how many items there are.
func (l *List[T]) Len() int { return l.n }

// In says whether the link is in a list.
func (k *Link[T]) In(l *List[T]) bool { return k.list == l }

// Next is the item after this one, nil after the last.
func (k *Link[T]) Next() *T {
	if k.next == nil {
		return nil
	}
	return k.next.item
}

// Leave takes the item out of its list, if it is in one.
func (k *Link[T]) Leave() {
	if k.list != nil { // apart, so that this much is inlined
		k.leave()
	}
}

func (k *Link[T]) leave() {
	l := k.list
	if k.prev != nil {
		k.prev.next = k.next
	} else {
		l.first = k.next
	}
	if k.next != nil {
		k.next.prev = k.prev
	} else {
		l.last = k.prev
	}
	l.n--
	k.prev, k.next, k.list = nil, nil, nil
}
