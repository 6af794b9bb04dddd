package result

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// testdata/v1 has a result and stores as rpclab wrote them when schema 1 and versions 4 and 5 of the store were new. Keep
// these files; add others for later versions.
const keptRun = "20261123-181359-j3xv"

func kept(t *testing.T, name string) []byte {
	t.Helper()
	file, err := os.Open(filepath.Join("testdata", "v1", name))
	must(t, err)
	defer file.Close()
	text, err := gzip.NewReader(file)
	must(t, err)
	content, err := io.ReadAll(text)
	must(t, err)
	return content
}

// TestAResultOfVersion1IsReadWithoutLoss compares everything that the document had with what is written again.
func TestAResultOfVersion1IsReadWithoutLoss(t *testing.T) {
	text := kept(t, "result.json.gz")
	d, err := Read(bytes.NewReader(text))
	must(t, err)
	if d.ID != keptRun || len(d.Arms) != 3 || len(d.Arms[0].Trials) != 4 || len(d.Events) == 0 || len(d.Verdicts) == 0 {
		t.Errorf("read %s with %d arms, %d events and %d verdicts", d.ID, len(d.Arms), len(d.Events), len(d.Verdicts))
	}
	again, err := encode(d)
	must(t, err)
	sameFields(t, text, again)
}

// sameFields requires that a later document has all fields of an earlier one. It may have more.
func sameFields(t *testing.T, earlier []byte, later string) {
	t.Helper()
	var before, after any
	must(t, json.Unmarshal(earlier, &before))
	must(t, json.Unmarshal([]byte(later), &after))
	var compare func(path string, before, after any)
	compare = func(path string, before, after any) {
		switch before := before.(type) {
		case map[string]any:
			object, _ := after.(map[string]any)
			for name, value := range before {
				compare(path+"."+name, value, object[name])
			}
		case []any:
			list, _ := after.([]any)
			if len(list) != len(before) {
				t.Errorf("%s has %d elements, want %d", path, len(list), len(before))
				return
			}
			for i, value := range before {
				compare(fmt.Sprintf("%s[%d]", path, i), value, list[i])
			}
		default:
			if before != after {
				t.Errorf("%s is %v, want %v", path, after, before)
			}
		}
	}
	compare("", before, after)
}

func TestAStoreOfVersion4IsRead(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, storeFile), kept(t, "store-4.db.gz"), 0o600))
	s := openStore(t, dir)
	rows, err := s.List(t.Context())
	must(t, err)
	var listed []string
	for _, row := range rows {
		listed = append(listed, fmt.Sprintf("%s %s %s %d of %d", row.ID, row.Experiment, row.Status, row.Trials, row.Planned))
	}
	want := []string{keptRun + " kept done 12 of 12", "20261123-191359-dead kept interrupted 12 of 12"}
	if rows[0].ID != keptRun { // both began at the same time
		want[0], want[1] = want[1], want[0]
	}
	if diff := cmp.Diff(want, listed); diff != "" {
		t.Error(diff)
	}
	d, complete, err := s.Get(t.Context(), keptRun)
	must(t, err)
	text, err := encode(d)
	must(t, err)
	if sameFields(t, kept(t, "result.json.gz"), text); !complete {
		t.Error("the finished run is not complete")
	}
	d, complete, err = s.Get(t.Context(), "20261123-19")
	if err != nil || complete || len(d.Arms) != 3 || len(d.Arms[2].Trials) != 4 {
		t.Errorf("the interrupted run has %d arms, complete: %v, %v", len(d.Arms), complete, err)
	}
	points, err := s.Trend(t.Context(), TrendRuns{Experiment: "kept", Most: -1}, "p99")
	if err != nil || len(points) != 3 {
		t.Errorf("the trend has %d points, want one for each arm of the finished run: %v", len(points), err)
	}
	earlier, err := s.Earlier(t.Context(), "kept")
	if err != nil || len(earlier) != 1 || earlier[0].Trials != 12 {
		t.Errorf("plans know the runs %+v, %v", earlier, err)
	}
}

// TestAStoreOfVersion5IsRead reads runs without conditions, with conditions that passed, that failed and are accepted, and
// that failed.
func TestAStoreOfVersion5IsRead(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, storeFile), kept(t, "store-5.db.gz"), 0o600))
	s := openStore(t, dir)
	rows, err := s.List(t.Context())
	must(t, err)
	outcomes := map[string]int{}
	for _, row := range rows {
		d, complete, err := s.Get(t.Context(), row.ID)
		if err != nil || !complete {
			t.Errorf("run %s: complete: %v, %v", row.ID, complete, err)
		}
		outcomes[fmt.Sprintf("%s, conditions %q", row.Status, d.Conditions)]++
	}
	want := map[string]int{`done, conditions ""`: 1, `done, conditions "passed"`: 1, `done, conditions "accepted"`: 1, `failed, conditions "failed"`: 1}
	if diff := cmp.Diff(want, outcomes); diff != "" {
		t.Error(diff)
	}
}

// TestNewerVersionsAreRefused checks that the message says where, why and what to do.
func TestNewerVersionsAreRefused(t *testing.T) {
	newer := regexp.MustCompile(`"rpclab.result/v1"`).ReplaceAll(kept(t, "result.json.gz"), []byte(`"rpclab.result/v12"`))
	_, err := Read(bytes.NewReader(newer))
	if want := "the schema is rpclab.result/v12, and this rpclab reads rpclab.result/v1: written by a newer rpclab; update rpclab"; !errors.Is(err, ErrNewer) || !strings.Contains(err.Error(), want) {
		t.Errorf("a newer document: %v, want %s", err, want)
	}
	dir := t.TempDir()
	s := openStore(t, dir)
	d, err := Read(bytes.NewReader(kept(t, "result.json.gz")))
	must(t, err)
	must(t, s.Save(t.Context(), d))
	_, err = s.db.Exec("UPDATE runs SET document = ?", string(newer))
	must(t, err)
	if _, _, err := s.Get(t.Context(), keptRun); !errors.Is(err, ErrNewer) || !strings.Contains(err.Error(), "run "+keptRun) {
		t.Errorf("a newer document in the store: %v, want its ID and ErrNewer", err)
	}
	_, err = s.db.Exec("PRAGMA user_version = 6")
	must(t, err)
	for name, open := range map[string]func(string) (*Store, error){"to write": OpenStore, "to read": openReadOnly} {
		_, err := open(dir)
		if !errors.Is(err, ErrNewer) || !strings.Contains(err.Error(), filepath.Join(dir, storeFile)) || !strings.Contains(err.Error(), "update rpclab") {
			t.Errorf("a newer store, %s: %v, want its path and to update rpclab", name, err)
		}
	}
}
