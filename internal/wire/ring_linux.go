package wire

import (
	"errors"
	"os"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ring sends on several sockets with one system call, io_uring_enter(2). The sends do not block, so
// they have ended when the call returns, as with send(2).
type ring struct {
	fd      int
	mapped  [][]byte
	tail    *uint32 // of the queue of sends
	mask    uint32
	entries []ringEntry

	resultHead, resultTail *uint32
	resultMask             uint32
	results                []ringResult
}

// ringSend is one send. It is not done if the ring failed before.
type ringSend struct {
	fd   int
	p    []byte
	n    int
	err  syscall.Errno
	done bool
}

// ringSize is the most sends of one system call, during which the Go runtime cannot stop the thread.
const ringSize = 64

// The structures and constants of linux/io_uring.h.
type (
	ringEntry struct {
		operation, _, _, _ uint8
		fd                 int32
		_                  uint64
		address            uint64
		length, flags      uint32
		id                 uint64
		_                  [3]uint64
	}
	ringResult struct {
		id    uint64
		value int32 // bytes, or a negative errno
		_     uint32
	}
	ringParameters struct {
		entries, results, _, _, _, features, _ uint32
		_                                      [3]uint32
		entriesAt                              struct {
			_, tail, mask, _, _, _, index, _ uint32
			_                                uint64
		}
		resultsAt struct {
			head, tail, mask, _, _, results, _, _ uint32
			_                                     uint64
		}
	}
)

const (
	ringQueuesAt, ringEntriesAt = 0, 0x10000000 // of mmap
	ringOneMapping              = 1 << 0        // feature: one mapping has both queues
	ringFastPoll                = 1 << 5        // feature of Linux 5.7; sends exist since 5.6
	ringOperationSend           = 26
	ringWait                    = 1 << 0
)

func newRing() (*ring, error) {
	var p ringParameters
	fd, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, ringSize, uintptr(unsafe.Pointer(&p)), 0)
	if errno != 0 {
		return nil, os.NewSyscallError("io_uring_setup", errno)
	}
	r := &ring{fd: int(fd)}
	if err := r.mapQueues(p); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

func (r *ring) mapQueues(p ringParameters) error {
	if p.features&ringOneMapping == 0 || p.features&ringFastPoll == 0 {
		return errors.New("this kernel's io_uring is too old")
	}
	size := max(p.entriesAt.index+4*p.entries, p.resultsAt.results+p.results*uint32(unsafe.Sizeof(ringResult{})))
	queues, err := r.mapMemory(ringQueuesAt, int(size))
	if err != nil {
		return err
	}
	entries, err := r.mapMemory(ringEntriesAt, int(p.entries)*int(unsafe.Sizeof(ringEntry{})))
	if err != nil {
		return err
	}
	at := func(offset uint32) *uint32 { return (*uint32)(unsafe.Pointer(&queues[offset])) }
	r.tail, r.mask = at(p.entriesAt.tail), *at(p.entriesAt.mask)
	r.resultHead, r.resultTail, r.resultMask = at(p.resultsAt.head), at(p.resultsAt.tail), *at(p.resultsAt.mask)
	r.entries = unsafe.Slice((*ringEntry)(unsafe.Pointer(&entries[0])), p.entries)
	r.results = unsafe.Slice((*ringResult)(unsafe.Pointer(&queues[p.resultsAt.results])), p.results)
	for i := range p.entries { // each place of the queue has its own entry
		*at(p.entriesAt.index + 4*i) = i
	}
	return nil
}

func (r *ring) mapMemory(at int64, size int) ([]byte, error) {
	memory, err := unix.Mmap(r.fd, at, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		return nil, os.NewSyscallError("mmap", err)
	}
	r.mapped = append(r.mapped, memory)
	return memory, nil
}

// send makes the sends and sets their results. An error means that the ring cannot be used.
func (r *ring) send(all []ringSend) error {
	for len(all) > 0 {
		n := min(len(all), ringSize)
		if err := r.sendSome(all[:n]); err != nil {
			return err
		}
		all = all[n:]
	}
	return nil
}

func (r *ring) sendSome(all []ringSend) error {
	tail := *r.tail
	for i, send := range all {
		r.entries[(tail+uint32(i))&r.mask] = ringEntry{
			operation: ringOperationSend, fd: int32(send.fd), flags: unix.MSG_NOSIGNAL | unix.MSG_DONTWAIT, id: uint64(i),
			address: uint64(uintptr(unsafe.Pointer(unsafe.SliceData(send.p)))), length: uint32(len(send.p)),
		}
	}
	atomic.StoreUint32(r.tail, tail+uint32(len(all)))
	for started, ended := 0, 0; ended < len(all); ended += r.takeResults(all) {
		left := len(all) - ended // results; all of them are there when the kernel has started the sends
		n, _, errno := syscall.RawSyscall6(unix.SYS_IO_URING_ENTER, uintptr(r.fd), uintptr(len(all)-started), uintptr(left), ringWait, 0, 0)
		switch errno {
		case 0:
			started += int(n)
		case unix.EINTR:
		default:
			return os.NewSyscallError("io_uring_enter", errno)
		}
	}
	return nil
}

// takeResults sets the results that have arrived and returns their number.
func (r *ring) takeResults(all []ringSend) (n int) {
	head, tail := *r.resultHead, atomic.LoadUint32(r.resultTail)
	for ; head != tail; head++ {
		result := r.results[head&r.resultMask]
		send := &all[result.id]
		send.done, send.n = true, int(result.value)
		if result.value < 0 {
			send.n, send.err = 0, syscall.Errno(-result.value)
		}
		n++
	}
	atomic.StoreUint32(r.resultHead, head)
	return n
}

func (r *ring) close() {
	for _, memory := range r.mapped {
		_ = unix.Munmap(memory)
	}
	unix.Close(r.fd)
}
