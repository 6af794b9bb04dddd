package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"rpclab/internal/result"
)

func exportCommand() *cobra.Command {
	var output string
	var all, keepPaths bool
	command := &cobra.Command{
		Use:   "export RUN... -o FILE.tar.gz",
		Short: "Write stored runs to an archive",
		Long: `Writes the result documents of stored runs to an archive, one ID.json for each
run. 'rpclab runs import' stores them on another machine.`,
		Example: `  rpclab runs export latest -o run.tar.gz
  rpclab runs export --all --keep-paths -o backup.tar.gz`,
		DisableFlagsInUseLine: true,
		Args: func(c *cobra.Command, refs []string) error {
			switch {
			case output == "":
				return usageError{fmt.Errorf("%s: name the archive with -o FILE.tar.gz; -o - is standard output", c.CommandPath())}
			case all == (len(refs) > 0):
				return usageError{fmt.Errorf("%s: name the runs ('rpclab runs' lists them), or use --all\nSee '%s --help'", c.CommandPath(), c.CommandPath())}
			}
			return nil
		},
		RunE: abortable(withRuns(func(c *cobra.Command, runs *storedRuns, refs []string) error {
			if all {
				store, err := runs.store()
				if err != nil {
					return err
				}
				rows, err := store.List(c.Context())
				if err != nil {
					return err
				}
				for _, row := range rows {
					if row.Status != result.Running {
						refs = append(refs, row.ID)
					}
				}
			}
			e := runExport{keepPaths: keepPaths, skip: all}
			draw := func(w io.Writer) error { return e.write(c.Context(), w, runs, refs) }
			if output == "-" {
				return cmp.Or(draw(c.OutOrStdout()), e.left())
			}
			if err := writeFile(output, draw); err != nil {
				return err
			}
			fmt.Fprintf(c.OutOrStdout(), "exported %s to %s\n", runCount(len(refs)-len(e.leftOut)-e.removed), output)
			return e.left()
		})),
	}
	flags := command.Flags()
	flags.StringVarP(&output, "output", "o", "", "`file` to write; - is standard output")
	flags.BoolVar(&all, "all", false, "export all runs that are not in progress and can be read")
	flags.BoolVar(&keepPaths, "keep-paths", false, "leave absolute paths in the documents (default: only the last element of each, so that the archive can be shared)")
	return command
}

// runExport writes runs to an archive.
type runExport struct {
	keepPaths bool
	skip      bool // leave out runs whose documents cannot be read
	leftOut   []error
	removed   int // runs that another process removed meanwhile
}

func (e *runExport) write(ctx context.Context, w io.Writer, runs *storedRuns, refs []string) error {
	archive := result.NewArchive(w)
	for _, ref := range refs {
		d, err := runs.load(ctx, ref)
		if e.skip && errors.Is(err, result.ErrUnknownRun) {
			e.removed++
			continue
		}
		if e.skip && (errors.Is(err, result.ErrUnreadable) || errors.Is(err, result.ErrNewer) || errors.Is(err, result.ErrSchema)) {
			e.leftOut = append(e.leftOut, err)
			continue
		}
		if err != nil {
			return err
		}
		if !e.keepPaths {
			d = result.WithoutPaths(d)
		}
		if err := archive.Add(d); err != nil {
			return err
		}
	}
	if n := len(e.leftOut); n > 0 && n == len(refs) {
		return fmt.Errorf("no run can be exported:%s", e.reasons())
	}
	return archive.Close()
}

// left is the error of an archive without some of the runs; nil: it has all.
func (e *runExport) left() error {
	switch n := len(e.leftOut); n {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("1 run is not in the archive:%s", e.reasons())
	default:
		return fmt.Errorf("%d runs are not in the archive:%s", n, e.reasons())
	}
}

func (e *runExport) reasons() (list string) {
	for _, err := range e.leftOut {
		list += "\n- " + err.Error()
	}
	return list
}

func importCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "import FILE",
		Short: "Store the runs of an archive, or of a file that --json wrote",
		Long: `Stores the runs of an archive that 'rpclab runs export' wrote, or the run of a
JSON file that --json wrote. A run that is already stored does not change.`,
		Example: `  rpclab runs import runs.tar.gz
  rpclab runs import result.json
  ssh build rpclab runs export --all -o - | rpclab runs import -`,
		Args: func(c *cobra.Command, files []string) error {
			if len(files) != 1 {
				return usageError{fmt.Errorf("%s needs one file, but got %d\nSee '%s --help'", c.CommandPath(), len(files), c.CommandPath())}
			}
			return nil
		},
		RunE: withStore(result.OpenStore, func(c *cobra.Command, store *result.Store, files []string) error {
			rows, err := store.List(c.Context())
			if err != nil {
				return err
			}
			stored := map[string]bool{}
			for _, row := range rows {
				stored[row.ID] = true
			}
			imported, known := 0, 0
			save := func(d result.Document) error {
				if stored[d.ID] {
					known++
					return nil
				}
				if err := c.Context().Err(); err != nil {
					return err
				}
				if err := result.CheckID(d.ID); err != nil {
					return err
				}
				whole := context.WithoutCancel(c.Context()) // also after an interrupt
				err := store.Save(whole, d)
				stored[d.ID] = true
				if err == nil {
					imported++
				} else if _, _, missing := store.Get(whole, d.ID); missing == nil { // another process has stored it meanwhile
					known, err = known+1, nil
				}
				return err
			}
			err = readRuns(c.InOrStdin(), files[0], save)
			if err == nil || imported > 0 {
				fmt.Fprintf(c.OutOrStdout(), "imported %s; %d stored already\n", runCount(imported), known)
			}
			return err
		}),
	}
}

// readRuns calls save with every run of an archive or of a file NAME.json.
func readRuns(stdin io.Reader, path string, save func(result.Document) error) error {
	if strings.HasSuffix(path, ".json") {
		d, err := loadFile(path)
		if err != nil {
			return err
		}
		if err = save(d); errors.Is(err, result.ErrID) {
			err = usageError{fmt.Errorf("%s: %w", path, err)}
		}
		return err
	}
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return usageError{fmt.Errorf("cannot read the archive %s: %w", path, errors.Unwrap(err))}
		}
		defer file.Close()
		stdin = file
	}
	err := result.ReadArchive(stdin, save)
	switch {
	case err == nil, errors.Is(err, result.ErrStore), errors.Is(err, context.Canceled):
		return err
	}
	return usageError{fmt.Errorf("%s: %w; 'rpclab runs export' writes archives", path, err)}
}

func runCount(n int) string {
	if n == 1 {
		return "1 run"
	}
	return fmt.Sprintf("%d runs", n)
}
