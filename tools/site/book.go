package main

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// book copies pages of the repository into the site. A link to a file that is not a page of the site, such as
// an example, makes a page of that file, so the site needs no code host.
type book struct {
	root, to string
	places   map[string]string // file of the repository: its page in the site
	queue    []string          // files that are not written yet
}

func (b *book) place(file, place string) string {
	b.places[file] = place
	b.queue = append(b.queue, file)
	return place
}

// copyPages writes the queued files, and those to which they link.
func (b *book) copyPages(ctx context.Context) error {
	for len(b.queue) > 0 {
		file := b.queue[0]
		b.queue = b.queue[1:]
		text, err := b.text(ctx, file)
		if err != nil {
			return fmt.Errorf("page of %s: %w", file, err)
		}
		if err := write(b.to, b.places[file], text); err != nil {
			return err
		}
	}
	return nil
}

// text returns the content of a file's page.
func (b *book) text(ctx context.Context, file string) ([]byte, error) {
	name := filepath.Join(b.root, filepath.FromSlash(file))
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return b.listing(ctx, file)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	place := b.places[file]
	switch {
	case strings.HasSuffix(file, ".md"):
		text = strict(b.relink(file, text))
		if strings.HasPrefix(place, "source/") || strings.HasPrefix(place, "findings/data/") {
			text = append([]byte(unsearched), text...)
		}
		return text, nil
	case !strings.HasSuffix(place, ".md"): // copied
		return text, nil
	}
	language := strings.TrimPrefix(path.Ext(file), ".")
	return fmt.Appendf(nil, "%s# %s\n\n`````%s title=%q\n%s\n`````\n", unsearched, path.Base(file), language, file, bytes.TrimSpace(text)), nil
}

// unsearched begins a page that the search leaves out.
const unsearched = "---\nsearch: {exclude: true}\n---\n\n"

// listing is the page of a directory.
func (b *book) listing(ctx context.Context, dir string) ([]byte, error) {
	c := exec.CommandContext(ctx, "git", "ls-files", ".")
	c.Dir = filepath.Join(b.root, filepath.FromSlash(dir))
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("git ls-files: %w", err)
	}
	page := bytes.NewBufferString(unsearched + "# " + dir + "\n\n")
	for _, name := range strings.Fields(string(out)) {
		if strings.Contains(name, "lock") || strings.HasSuffix(name, ".sum") {
			continue
		}
		fmt.Fprintf(page, "- [%s](%s)\n", name, relative(b.places[dir], b.of(path.Join(dir, name))))
	}
	return page.Bytes(), nil
}

// copied are the extensions of the files that are in the site as they are, without a page.
var copied = []string{".svg", ".png", ".gz"}

// of returns the page of a file, directory or picture of the repository.
func (b *book) of(file string) string {
	if place := b.places[file]; place != "" {
		return place
	}
	info, err := os.Stat(filepath.Join(b.root, filepath.FromSlash(file)))
	readme := path.Join(file, "README.md")
	_, noReadme := os.Stat(filepath.Join(b.root, filepath.FromSlash(readme)))
	visible := strings.ReplaceAll("source/"+file, "/.", "/") // MkDocs ignores files whose name begins with a point
	switch {
	case err == nil && info.IsDir() && noReadme == nil:
		return b.of(readme)
	case err == nil && info.IsDir():
		return b.place(file, visible+"/index.md")
	case slices.Contains(copied, path.Ext(file)):
		return b.place(file, strings.TrimPrefix(file, "docs/"))
	case strings.HasSuffix(file, "README.md"):
		return b.place(file, path.Dir(visible)+"/index.md")
	case strings.HasSuffix(file, ".md"):
		return b.place(file, visible)
	}
	return b.place(file, visible+".md")
}

var (
	fence = regexp.MustCompile("^ *(````*)")
	link  = regexp.MustCompile("`[^`\n]*`|" + `\]\(([^()\s]+)\)|(?:src|srcset|href)="([^"]+)"`)
)

// relink replaces the relative links of a page of the repository with those of the site.
func (b *book) relink(file string, text []byte) []byte {
	return prose(text, func(line string) string {
		return link.ReplaceAllStringFunc(line, func(found string) string {
			groups := link.FindStringSubmatch(found)
			target := groups[1] + groups[2]
			if target == "" { // code
				return found
			}
			return strings.Replace(found, target, b.target(file, target), 1)
		})
	})
}

// prose changes the lines of a page that are not between fences.
func prose(text []byte, change func(line string) string) []byte {
	var out strings.Builder
	end := "" // of the code block
	for line := range strings.Lines(string(text)) {
		switch mark := fence.FindStringSubmatch(line); {
		case end != "":
			if strings.TrimSpace(line) == end {
				end = ""
			}
		case mark != nil:
			end = mark[1]
		default:
			line = change(line)
		}
		out.WriteString(line)
	}
	return []byte(out.String())
}

var item = regexp.MustCompile(`^( *)(?:[-*]|\d+\.) `)

// strict writes lists as MkDocs reads them: after an empty line, and a list within a list indented by four. Code hosts read
// them without that.
func strict(text []byte) []byte {
	before, inList := "", false
	return prose(text, func(line string) string {
		found := item.FindStringSubmatch(line)
		blank := strings.TrimSpace(line) == ""
		switch {
		case found != nil && !inList && len(found[1]) == 0:
			inList = true
			if strings.TrimSpace(before) != "" {
				line = "\n" + line
			}
		case found != nil && inList && len(found[1]) > 0 && len(found[1]) < 4:
			line = "    " + strings.TrimLeft(line, " ")
		case found == nil && !blank && strings.TrimSpace(before) == "" && !strings.HasPrefix(line, " "):
			inList = false
		}
		before = line
		return line
	})
}

// target is a link of a page, in the site.
func (b *book) target(file, target string) string {
	to, err := url.Parse(target)
	if err != nil || to.Scheme != "" || to.Host != "" || to.Path == "" {
		return target
	}
	to.Path = relative(b.places[file], b.of(path.Join(path.Dir(file), to.Path)))
	return to.String()
}

// relative is the path from one page of the site to another.
func relative(from, to string) string {
	up, err := filepath.Rel(filepath.FromSlash(path.Dir(from)), filepath.FromSlash(to))
	if err != nil { // one is absolute, which none is
		return to
	}
	return filepath.ToSlash(up)
}

// write writes a page, or a file that is copied as it is.
func write(to, place string, text []byte) error {
	if strings.HasSuffix(place, ".md") {
		text = append(bytes.TrimSpace(text), '\n')
	}
	file := filepath.Join(to, filepath.FromSlash(place))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o644)
}

// cell replaces what would end a cell of a table, or begin a tag.
var cell = strings.NewReplacer("|", `\|`, "<", "&lt;", "\n", " ")
