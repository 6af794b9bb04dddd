// Package list is a doubly linked list whose links are fields of its items, so that it never
// allocates.
package list

// List holds items in the order in which they were added. The zero List is empty.
type List[T any] struct {
	first, last *Link[T]
	n           int
}

// Link is an item's place in at most one list. It must not be copied while it is in a list. The
// zero Link is in none.
type Link[T any] struct {
	prev, next *Link[T]
	list       *List[T]
	item       *T
}

// PushBack adds an item at the end. by is a link of the item that is in no list.
func (l *List[T]) PushBack(item *T, by *Link[T]) {
	by.prev, by.list, by.item = l.last, l, item
	if l.last != nil {
		l.last.next = by
	} else {
		l.first = by
	}
	l.last = by
	l.n++
}

// Front returns the first item, nil for an empty list.
func (l *List[T]) Front() *T {
	if l.first == nil {
		return nil
	}
	return l.first.item
}

// Len returns the number of items.
func (l *List[T]) Len() int { return l.n }

// In reports whether the link is in the list; nil: in none.
func (k *Link[T]) In(l *List[T]) bool { return k.list == l }

// Next returns the item after this one, nil for the last.
func (k *Link[T]) Next() *T {
	if k.next == nil {
		return nil
	}
	return k.next.item
}

// Remove removes the item from its list, if it is in one.
func (k *Link[T]) Remove() {
	if k.list != nil { // a function of its own, so that Remove is inlined
		k.remove()
	}
}

func (k *Link[T]) remove() {
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
