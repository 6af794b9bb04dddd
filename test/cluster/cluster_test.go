//go:build linux

package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"rpclab/internal/testkit"
)

// The test process is also the program, under this variable.
const asProgram = "CLUSTER_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	testkit.Main(m)
}

// bed runs this program with its own directory of clusters.
type bed struct {
	t       *testing.T
	home    string // directory of clusters and builds
	program string
	kubectl string
}

func newBed(t *testing.T) bed {
	t.Helper()
	b := bed{t: t, home: t.TempDir()}
	t.Setenv("XDG_STATE_HOME", b.home)
	b.program = filepath.Join(t.TempDir(), "cluster")
	if err := run(t.Context(), "go", "build", "-o", b.program, "rpclab/test/cluster"); err != nil {
		t.Fatal(err)
	}
	// Installing a Debian package may create directories, but it starts no service.
	before := services(t)
	if err := install(t.Context(), t.Logf); err != nil {
		t.Fatal(err)
	}
	if now := services(t); !slices.Equal(now, before) {
		t.Errorf("with the packages of the cluster these services start: %q, before: %q", now, before)
	}
	t.Cleanup(func() { b.must("down", "--name", testName) })
	return b
}

const testName = "harness-test"

// run runs a command of this program.
func (b bed) run(args ...string) (stdout string, err error) {
	cmd := exec.Command(b.program, args...)
	var out, progress bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &progress
	err = cmd.Run()
	b.t.Logf("cluster %s: %v\n%s", strings.Join(args, " "), err, progress.String())
	if err != nil {
		err = fmt.Errorf("%w: %s", err, progress.String())
	}
	return out.String(), err
}

func (b bed) must(args ...string) string {
	b.t.Helper()
	out, err := b.run(args...)
	if err != nil {
		b.t.Fatal(err)
	}
	return out
}

// up starts a cluster and reads the kubeconfig from its last line of output.
func (b *bed) up(nodes string) string {
	b.t.Helper()
	out := b.must("up", "--name", testName, "--nodes", nodes)
	line := strings.TrimSpace(out[strings.LastIndex(strings.TrimSpace(out), "\n")+1:])
	kubeconfig, ok := strings.CutPrefix(line, "export KUBECONFIG=")
	if !ok {
		b.t.Fatalf("the last line is %q", line)
	}
	b.t.Setenv("KUBECONFIG", kubeconfig)
	b.kubectl = kubectlIn(filepath.Dir(kubeconfig))
	return kubeconfig
}

// processes returns the processes of all clusters: found by the directory in their environment or, in
// containers, by their control group.
func (b bed) processes() (all []string) {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		b.t.Fatal(err)
	}
	for _, dir := range dirs {
		environment, _ := os.ReadFile(filepath.Join(dir, "environ")) // it may have ended
		groups, _ := os.ReadFile(filepath.Join(dir, "cgroup"))
		command, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		own := bytes.Contains(environment, []byte("XDG_STATE_HOME="+b.home))
		if filepath.Base(dir) != fmt.Sprint(os.Getpid()) && (own || bytes.Contains(groups, []byte("/"+cgroupOf(testName)))) {
			all = append(all, strings.ReplaceAll(string(command), "\x00", " "))
		}
	}
	return all
}

// machine returns the state of this machine that a cluster might change.
func machine(t *testing.T) map[string]string {
	t.Helper()
	now := map[string]string{}
	for _, file := range []string{"/proc/self/mounts", "/proc/sys/net/ipv4/ip_forward", "/proc/sys/vm/overcommit_memory", "/proc/sys/vm/panic_on_oom",
		"/proc/sys/kernel/panic", "/proc/sys/kernel/panic_on_oops", "/proc/sys/kernel/keys/root_maxkeys", "/proc/sys/kernel/keys/root_maxbytes"} {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		now[file] = string(raw)
	}
	links, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range links {
		now["links"] += link.Name + " "
	}
	dirs, err := hierarchies()
	if err != nil {
		t.Fatal(err)
	}
	for i, dir := range dirs {
		dirs[i] = filepath.Join(dir, cgroupOf(testName))
	}
	for _, dir := range append(dirs, "/run/containerd", "/run/netns", "/var/lib/cni", "/var/lib/containerd", "/var/lib/kubelet", "/var/log/containers", "/var/log/pods") {
		_, err := os.Stat(dir)
		now[dir] = fmt.Sprint("there: ", err == nil)
	}
	return now
}

// services are the services that start with this machine. Without systemd no service does.
func services(t *testing.T) []string {
	t.Helper()
	if _, err := os.Stat("/run/systemd/system"); err != nil {
		return nil
	}
	all, err := filepath.Glob("/etc/systemd/system/*.wants/*.service")
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// leavesNothing compares the machine with its state before.
func (b bed) leavesNothing(before map[string]string) {
	b.t.Helper()
	if left := b.processes(); len(left) > 0 {
		b.t.Errorf("processes still run: %q", left)
	}
	for what, now := range machine(b.t) {
		if now != before[what] {
			b.t.Errorf("%s is\n%s\nwant as before\n%s", what, now, before[what])
		}
	}
	if left, err := filepath.Glob(filepath.Join(b.home, "rpclab", "cluster", "*")); err != nil || len(left) > 0 {
		b.t.Errorf("files still exist: %q (%v)", left, err)
	}
}

func TestUpAndDownAreIdempotentAndLeaveNothing(t *testing.T) {
	b := newBed(t)
	before := machine(t)
	kubeconfig := b.up("2")
	if info, err := os.Stat(kubeconfig); err != nil || info.Mode() != 0o600 {
		t.Errorf("kubeconfig: %v, %v; want mode 0600", info, err)
	}
	if again := b.up("2"); again != kubeconfig {
		t.Errorf("a second up returned %s, want %s of the running cluster", again, kubeconfig)
	}
	if _, err := b.run("up", "--name", testName, "--nodes", "1"); err == nil {
		t.Error("up with one node accepted a running cluster of two nodes")
	}
	b.worksAsKubernetesDoes()
	b.must("down", "--name", testName)
	b.leavesNothing(before)
	b.must("down", "--name", testName) // no cluster runs
}

func TestAKilledSupervisorEndsAllProcesses(t *testing.T) {
	b := newBed(t)
	before := machine(t)
	b.up("1")
	s, _, err := readyState(testName)
	if err != nil {
		t.Fatal(err)
	}
	if len(b.processes()) < 8 {
		t.Fatalf("too few processes run: %q", b.processes())
	}
	if err := syscall.Kill(s.Supervisor.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	testkit.AwaitFor(t, patience, "the end of all processes", func() bool { return len(b.processes()) == 0 })
	b.up("1")
	b.must("down", "--name", testName)
	b.leavesNothing(before)
}

func TestWithRunsACommandOnATemporaryCluster(t *testing.T) {
	b := newBed(t)
	before := machine(t)
	_, err := b.run("with", "--name", testName, "--nodes", "1", "--", "sh", "-c", "test -s $KUBECONFIG && $0 exec busybox true && exit 7", b.program)
	if err == nil || !strings.Contains(err.Error(), "exit status 7") {
		t.Errorf("error %v, want the command's exit code 7", err)
	}
	b.leavesNothing(before)

	cmd := exec.Command(b.program, "with", "--name", testName, "--nodes", "1", "--", "sleep", "infinity")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	testkit.AwaitFor(t, 5*time.Minute, "the cluster", func() bool { _, _, err := readyState(testName); return err == nil })
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	testkit.AwaitFor(t, patience, "the end of the cluster and the command", func() bool { return len(b.processes()) == 0 })
}
