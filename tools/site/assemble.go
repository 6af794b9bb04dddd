package main

import (
	"cmp"
	"context"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// section is a tab of the site, or a group of pages below one.
type section struct {
	title    string
	pages    []string // paths of pages in the site
	sections []section
}

// renamed are the places in the site of pages outside docs.
var renamed = map[string]string{
	"README.md": "index.md", "CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md", "SECURITY.md": "security.md",
	"CODE_OF_CONDUCT.md": "conduct.md", "deploy/README.md": "dashboards.md", "servers/CONTRACT.md": "servers.md",
}

// assemble writes all pages of the site below to, and returns their order.
func assemble(ctx context.Context, root, program, to string) ([]section, error) {
	docs, err := written(root)
	if err != nil {
		return nil, err
	}
	b := &book{root: root, to: to, places: map[string]string{}}
	for file, place := range docs {
		b.place(file, place)
	}
	b.places["api/result.schema.json"], b.places["api/comparison.schema.json"] = "reference/result.md", "reference/comparison.md"
	if err := b.copyPages(ctx); err != nil {
		return nil, err
	}
	experiments, err := writeExperiments(root, to)
	if err != nil {
		return nil, err
	}
	commands, err := writeCommands(ctx, program, to)
	if err != nil {
		return nil, err
	}
	if err := writeReference(root, to); err != nil {
		return nil, err
	}
	return order(slices.Sorted(maps.Values(docs)), experiments, commands), nil
}

// written are the pages of the repository in the navigation, with their places in the site.
func written(root string) (map[string]string, error) {
	all := maps.Clone(renamed)
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(file string, _ os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(file, ".md") {
			name, _ := filepath.Rel(root, file) // it is below root
			name = filepath.ToSlash(name)
			all[name] = strings.Replace(strings.TrimPrefix(name, "docs/"), "README.md", "index.md", 1)
		}
		return err
	})
	return all, err
}

// order is the navigation. A page of docs that no section names is a guide.
func order(written, experiments, commands []string) []section {
	start := []string{"index.md", "install.md"}
	guides := []string{"your-service.md", "your-client.md", "ci.md", "kubernetes.md", "dashboards.md", "settings.md"}
	project := []string{"architecture.md", "studies.md", "stability.md", "contributing.md", "security.md", "conduct.md", "changelog.md"}
	reference := []string{"reference/experiment.md", "reference/service.md", "reference/result.md", "reference/comparison.md", "reference/metrics.md", "servers.md", "glossary.md"}
	below := map[string][]string{} // pages in directories of docs, whose README comes first
	for _, place := range written {
		dir := path.Dir(place)
		if dir != "." {
			below[dir] = append(below[dir], place)
		} else if place != "method.md" && !slices.Contains(slices.Concat(start, guides, project, reference), place) {
			guides = append(guides, place)
		}
	}
	for _, pages := range below {
		slices.SortFunc(pages, func(a, b string) int {
			return cmp.Or(-cmp.Compare(strings.Count(a, "index.md"), strings.Count(b, "index.md")), strings.Compare(a, b))
		})
	}
	return []section{
		{title: "Start", pages: start},
		{title: "Guides", pages: guides},
		{title: "Experiments", pages: experiments},
		{title: "Findings", pages: below["findings"], sections: []section{{title: "All figures", pages: below["findings/data"]}}},
		{title: "Reference", pages: reference, sections: []section{{title: "Commands", pages: commands}}},
		{title: "Method", pages: append([]string{"method.md"}, below["method"]...)},
		{title: "Project", pages: project, sections: []section{{title: "Decisions", pages: below["decisions"]}}},
	}
}
