//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// initSpace is process 1 of a [space]. It prepares mounts, starts the programs that standard input names, and
// exits when standard input or one of the programs ends.
func initSpace(name, dir string) error {
	if err := prepareSpace(name, dir); err != nil {
		return fmt.Errorf("prepare %s: %w", name, err)
	}
	programs := children{byPid: map[int]string{}}
	ended := make(chan error, 2)
	go func() { ended <- programs.obey(os.Stdin) }()
	go func() { ended <- programs.reap() }()
	return <-ended
}

// prepareSpace creates the mounts and settings of this space. Its /var is the directory of the cluster and
// its /run is in memory, so nothing on the machine changes.
func prepareSpace(name, dir string) error {
	type mount struct {
		from, to, kind string
		flags          uintptr
	}
	mounts := []mount{
		{"", "/", "", unix.MS_REC | unix.MS_PRIVATE}, // further mounts do not affect the machine
		{"", "/", "", unix.MS_REC | unix.MS_SHARED},  // but they affect containers, as the kubelet requires
		{"proc", "/proc", "proc", 0},
		{os.Getenv("RPCLAB_PROGRAMS"), filepath.Join(dir, "bin"), "", unix.MS_BIND},
		{dir, "/var", "", unix.MS_BIND | unix.MS_REC},
		{"tmpfs", "/run", "tmpfs", 0},
	}
	// A kubelet would set these for the whole machine.
	for setting, value := range map[string]string{
		"vm/overcommit_memory": "1", "vm/panic_on_oom": "0", "kernel/panic": "10", "kernel/panic_on_oops": "1",
		"kernel/keys/root_maxkeys": "1000000", "kernel/keys/root_maxbytes": "25000000",
	} {
		file := filepath.Join(dir, "etc", filepath.Base(setting))
		if err := os.WriteFile(file, []byte(value+"\n"), 0o644); err != nil {
			return err
		}
		mounts = append(mounts, mount{filepath.Join("/var/etc", filepath.Base(setting)), "/proc/sys/" + setting, "", unix.MS_BIND})
	}
	for _, m := range mounts {
		if err := unix.Mount(m.from, m.to, m.kind, m.flags, ""); err != nil {
			return fmt.Errorf("mount %s on %s: %w", m.from, m.to, err)
		}
	}
	without := "/proc/sys/net/ipv6/conf/all/disable_ipv6"
	if err := os.WriteFile(without, []byte("1"), 0); err != nil && !errors.Is(err, fs.ErrNotExist) { // some kernels lack it
		return err
	}
	return errors.Join(
		unix.Sethostname([]byte(name)),
		os.Symlink("/run", "/var/run"),
		os.Mkdir("/run/lock", 0o755),
		os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0),
	)
}

// children are the running programs of a space.
type children struct {
	mu    sync.Mutex
	byPid map[int]string
}

// obey starts the ordered programs until standard input ends.
func (c *children) obey(from io.Reader) error {
	for orders := json.NewDecoder(from); ; {
		var next order
		if err := orders.Decode(&next); err != nil {
			return fmt.Errorf("the supervisor ended: %w", err)
		}
		if err := c.start(next); err != nil {
			return err
		}
	}
}

func (c *children) start(program order) error {
	path, err := exec.LookPath(program[0])
	if err != nil {
		return err
	}
	log, err := os.Create(filepath.Join("/var/log", program[0]+".log"))
	if err != nil {
		return err
	}
	defer log.Close()
	c.mu.Lock() // the program may end before its ID is stored
	defer c.mu.Unlock()
	started, err := os.StartProcess(path, program, &os.ProcAttr{Env: os.Environ(), Files: []*os.File{nil, log, log}})
	if err != nil {
		return fmt.Errorf("start %s: %w", program[0], err)
	}
	c.byPid[started.Pid] = program[0]
	return nil
}

// reap waits for children, as process 1 must, until one of the programs ends.
func (c *children) reap() error {
	deaths := make(chan os.Signal, 1) // one signal may represent several deaths
	signal.Notify(deaths, syscall.SIGCHLD)
	for range deaths {
		for {
			var how syscall.WaitStatus
			pid, err := syscall.Wait4(-1, &how, syscall.WNOHANG, nil)
			if errors.Is(err, syscall.EINTR) {
				continue
			}
			if err != nil || pid == 0 {
				break
			}
			c.mu.Lock()
			name, ours := c.byPid[pid]
			c.mu.Unlock()
			if ours {
				return fmt.Errorf("%s ended: exit code %d, signal %d; see its log", name, how.ExitStatus(), how.Signal())
			}
		}
	}
	return nil
}
