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

func TestAStoreThatCannotBeOpenedSaysWhy(t *testing.T) {
	file := func(text string) func(*testing.T, string) string {
		return func(t *testing.T, dir string) string {
			must(t, os.WriteFile(filepath.Join(dir, "runs.db"), []byte(text), 0o600))
			return dir
		}
	}
	sql := func(statement string) func(*testing.T, string) string {
		return func(t *testing.T, dir string) string {
			s := open(t, dir)
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
		}, "a file stands where a directory should be"},
		{"the file is a directory", func(t *testing.T, dir string) string {
			must(t, os.Mkdir(filepath.Join(dir, "runs.db"), 0o700))
			return dir
		}, "a directory stands where the file should be"},
		{"not a database", file("this is a text, and a long one at that"), "damaged, or not a result store"},
		{"another program's", sql("PRAGMA user_version = 0"), "a database of another program"},
		{"a newer store", sql("PRAGMA user_version = 9"), "it has version 9 and this rpclab reads up to 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := c.prepare(t, t.TempDir())
			_, err := OpenStore(dir)
			if !errors.Is(err, ErrStore) {
				t.Fatalf("%v is not ErrStore", err)
			}
			for _, want := range []string{c.says, dir, "--no-store", "RPCLAB_DATA_DIR"} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
			if newer := c.name == "a newer store"; errors.Is(err, ErrNewer) != newer {
				t.Errorf("is ErrNewer: %v, want %v", !newer, newer)
			}
		})
	}
}

func TestAFullDiskLosesNoTrialThatWasStored(t *testing.T) {
	s, ctx, d := open(t, t.TempDir()), context.Background(), sampleDocument(t)
	must(t, s.Begin(ctx, d))
	must(t, s.AddTrial(ctx, d.ID, d.Arms[0], sampleTrial(t, 1)))
	_, err := s.db.Exec("PRAGMA max_page_count = 1") // no page more than now
	must(t, err)
	for err == nil {
		err = s.AddTrial(ctx, d.ID, d.Arms[0], sampleTrial(t, 2))
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

func TestCausesInPlainWords(t *testing.T) {
	for _, c := range []struct {
		err  error
		says string
	}{
		{fs.ErrPermission, "no permission"},
		{syscall.EROFS, "no permission"},
		{syscall.ENOSPC, "the disk is full"},
		{syscall.EDQUOT, "the disk is full"},
		{errors.New("odd"), "cannot open it: odd; use --no-store"},
	} {
		err := storeError("/data/runs.db", "open it", c.err)
		if !strings.Contains(err.Error(), c.says) || !errors.Is(err, c.err) {
			t.Errorf("%v: %q", c.err, err)
		}
	}
}
