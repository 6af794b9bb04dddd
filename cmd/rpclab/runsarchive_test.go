package main

import (
	"bytes"
	"context"
	"io"
	"strings"
	"sync"
	"testing"

	"rpclab/internal/result"
)

// before calls a function before its first read.
type before struct {
	io.Reader
	first func()
}

func (b before) Read(into []byte) (int, error) {
	b.first()
	return b.Reader.Read(into)
}

// archiveOf returns a run and an archive with it.
func archiveOf(t *testing.T) (result.Document, *bytes.Buffer) {
	t.Helper()
	d := result.Document{Schema: result.Schema, ID: "run-1", Experiment: "mine", Cluster: "local", Arms: []result.Arm{}}
	var archive bytes.Buffer
	w := result.NewArchive(&archive)
	if err := w.Add(d); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return d, &archive
}

func TestAnImportAllowsForRunsThatAnotherProcessStores(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("RPCLAB_DATA_DIR", dir)
	d, archive := archiveOf(t)
	other := sync.OnceFunc(func() { // the import has listed the runs of the store
		store, err := result.OpenStore(dir)
		if err == nil {
			err = store.Save(context.Background(), d)
		}
		if err == nil {
			err = store.Close()
		}
		if err != nil {
			t.Error(err)
		}
	})
	var out strings.Builder
	command := root()
	command.SetIn(before{archive, other})
	command.SetOut(&out)
	command.SetArgs([]string{"runs", "import", "-"})
	if err := command.Execute(); err != nil || out.String() != "imported 0 runs; 1 stored already\n" {
		t.Errorf("%q, error %v; want that the run is stored already", out.String(), err)
	}
}

func TestAnExportOfAllRunsAllowsForRunsThatAnotherProcessRemoves(t *testing.T) {
	t.Setenv("RPCLAB_DATA_DIR", t.TempDir())
	var runs storedRuns
	defer func() {
		if err := runs.close(); err != nil {
			t.Error(err)
		}
	}()
	e := runExport{skip: true}
	if err := e.write(t.Context(), io.Discard, &runs, []string{"20260101-000000-aaaa"}); err != nil || e.removed != 1 || e.left() != nil {
		t.Errorf("error %v, %d runs were removed; want one", err, e.removed)
	}
}
