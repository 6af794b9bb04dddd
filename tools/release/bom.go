package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/CycloneDX/cyclonedx-go"
)

// writeBOM writes the modules that the programs contain, and the npm packages of the page, in CycloneDX.
func writeBOM(file, root string, programs []program) error {
	licences, err := rows(filepath.Join(root, "THIRD_PARTY.md"))
	if err != nil {
		return err
	}
	packages, err := rows(filepath.Join(root, "legal", "npm.md"))
	if err != nil {
		return err
	}
	found := map[string]cyclonedx.Component{}
	add := func(kind, name, version, licence string) {
		purl := "pkg:" + kind + "/" + strings.ReplaceAll(name, "@", "%40") + "@" + version
		found[purl] = cyclonedx.Component{
			Type: cyclonedx.ComponentTypeLibrary, BOMRef: purl, PackageURL: purl, Name: name, Version: version,
			Licenses: &cyclonedx.Licenses{{Expression: expression(licence)}},
		}
	}
	for _, p := range programs {
		add("golang", "std", strings.TrimPrefix(p.info.GoVersion, "go"), licences["Go standard library"].licence)
		for _, module := range p.info.Deps {
			add("golang", module.Path, module.Version, licences[module.Path].licence)
		}
	}
	for name, row := range packages {
		add("npm", name, row.version, row.licence)
	}
	components := make([]cyclonedx.Component, 0, len(found))
	for _, c := range found {
		components = append(components, c)
	}
	slices.SortFunc(components, func(a, b cyclonedx.Component) int { return strings.Compare(a.BOMRef, b.BOMRef) })
	bom := cyclonedx.NewBOM()
	bom.Metadata = &cyclonedx.Metadata{
		Timestamp: programs[0].time.UTC().Format(time.RFC3339),
		Component: &cyclonedx.Component{Type: cyclonedx.ComponentTypeApplication, BOMRef: "rpclab", Name: "rpclab", Version: programs[0].version,
			Licenses: &cyclonedx.Licenses{{Expression: "Apache-2.0"}}},
	}
	bom.Components = &components
	var out bytes.Buffer
	if err := cyclonedx.NewBOMEncoder(&out, cyclonedx.BOMFileFormatJSON).SetPretty(true).Encode(bom); err != nil {
		return err
	}
	return os.WriteFile(file, out.Bytes(), 0o644)
}

// expression is a licence of THIRD_PARTY.md as an SPDX expression.
func expression(licence string) string {
	return strings.NewReplacer(" and ", " AND ", ", ", " AND ").Replace(licence)
}

type row struct{ version, licence string }

var tableRow = regexp.MustCompile(`(?m)^\| ([^|]+) \| ([^|]*) \| ([^|]+) \|$`)

// rows reads the table of a page of licences, by its first column.
func rows(page string) (map[string]row, error) {
	text, err := os.ReadFile(page)
	if err != nil {
		return nil, err
	}
	found := map[string]row{}
	for _, cells := range tableRow.FindAllStringSubmatch(string(text), -1) {
		if cells[1] != "module" && cells[1] != "package" {
			found[cells[1]] = row{cells[2], cells[3]}
		}
	}
	return found, nil
}
