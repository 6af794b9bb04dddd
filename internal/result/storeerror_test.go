package result

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestOpenStoreErrors(t *testing.T) {
	file := func(text string) func(*testing.T, string) string {
		return func(t *testing.T, dir string) string {
			must(t, os.WriteFile(filepath.Join(dir, "runs.db"), []byte(text), 0o600))
			return dir
		}
	}
	sql := func(statement string) func(*testing.T, string) string {
		return func(t *testing.T, dir string) string {
			s := openStore(t, dir)
			_, err := s.db.Exec(statement)
			must(t, err)
			return dir
		}
	}
	for _, c := range []struct {
		name    string
		prepare func(*testing.T, string) string
		says    string
	}{
		{"the directory is a file", func(t *testing.T, dir string) string {
			must(t, os.WriteFile(filepath.Join(dir, "data"), nil, 0o600))
			return filepath.Join(dir, "data")
		}, "the path of the directory is a file"},
		{"the file is a directory", func(t *testing.T, dir string) string {
			must(t, os.Mkdir(filepath.Join(dir, "runs.db"), 0o700))
			return dir
		}, "the path of the file is a directory"},
		{"not a database", file("a text that is longer than the header of a database"), "damaged, or not a result store"},
		{"another program's", sql("PRAGMA user_version = 0"), "a database of another program"},
		{"a newer store", sql("PRAGMA user_version = 9"), "the store has version 9, and this rpclab reads up to version 5"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := c.prepare(t, t.TempDir())
			_, err := OpenStore(dir)
			if !errors.Is(err, ErrStore) {
				t.Fatalf("%v is not ErrStore", err)
			}
			for _, want := range []string{c.says, dir, "RPCLAB_DATA_DIR"} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not contain %q", err, want)
				}
			}
			if strings.Contains(err.Error(), "--no-store") {
				t.Errorf("error %q names a flag that not every command has", err)
			}
			if newer := c.name == "a newer store"; errors.Is(err, ErrNewer) != newer {
				t.Errorf("is ErrNewer: %v, want %v", !newer, newer)
			}
		})
	}
}

func TestAStoreThatIsReadOnly(t *testing.T) {
	dir, ctx, d := t.TempDir(), context.Background(), sampleDocument(t)
	written := openStore(t, dir)
	must(t, written.Save(ctx, d))
	read, err := openReadOnly(dir)
	must(t, err)
	defer read.Close()
	if got, complete, err := read.Get(ctx, "latest"); err != nil || !complete || got.ID != d.ID {
		t.Errorf("the latest run is %q (complete: %t, error %v), want %q", got.ID, complete, err, d.ID)
	}
	if err := read.AddTrials(ctx, d.ID, oneTrial(d.Arms[0], sampleTrial(t, 1))); err == nil || !strings.Contains(err.Error(), "no permission to write there") {
		t.Errorf("a trial is stored with the error %v, want one about permission", err)
	}
	for version, want := range map[string]string{"2": "upgrades it to version 5 only with permission to write", "9": "reads up to version 5"} {
		_, err := written.db.Exec("PRAGMA user_version = " + version)
		must(t, err)
		if _, err := openReadOnly(dir); !errors.Is(err, ErrStore) || !strings.Contains(err.Error(), want) {
			t.Errorf("version %s: error %v, want %q", version, err, want)
		}
	}
}

func TestAFullDiskKeepsStoredTrials(t *testing.T) {
	s, ctx, d := openStore(t, t.TempDir()), context.Background(), sampleDocument(t)
	must(t, s.Begin(ctx, d))
	must(t, s.AddTrials(ctx, d.ID, oneTrial(d.Arms[0], sampleTrial(t, 1))))
	_, err := s.db.Exec("PRAGMA max_page_count = 1") // no more pages than now
	must(t, err)
	for err == nil {
		err = s.AddTrials(ctx, d.ID, oneTrial(d.Arms[0], sampleTrial(t, 2)))
	}
	if !strings.Contains(err.Error(), "the disk is full") || !strings.Contains(err.Error(), s.Path()) {
		t.Error(err)
	}
	got, _, err := s.Get(ctx, d.ID)
	must(t, err)
	if len(got.Arms[0].Trials) == 0 {
		t.Error("the first trial is lost")
	}
}

func TestStoreErrorNamesTheCause(t *testing.T) {
	for _, c := range []struct {
		err  error
		says string
	}{
		{fs.ErrPermission, "no permission"},
		{syscall.EROFS, "no permission"},
		{syscall.ENOSPC, "the disk is full"},
		{syscall.EDQUOT, "the disk is full"},
		{errors.New("odd"), "cannot open the store: odd; set RPCLAB_DATA_DIR to another directory"},
	} {
		err := storeError("/data/runs.db", "open the store", c.err)
		if !strings.Contains(err.Error(), c.says) || !errors.Is(err, c.err) {
			t.Errorf("%v: error %q, want one that contains %q", c.err, err, c.says)
		}
	}
}
