package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"rpclab/internal/experiment"
	"rpclab/internal/lab"
	"rpclab/internal/result"
	"rpclab/internal/web/meters"
)

// writeReference writes the pages of the formats of files.
func writeReference(root, to string) error {
	text, err := experiment.Schema(lab.Vocabulary())
	if err != nil {
		return err
	}
	var format schema
	if err := json.Unmarshal(text, &format); err != nil {
		return fmt.Errorf("schema of experiments: %w", err)
	}
	example, err := os.ReadFile(filepath.Join(root, "docs/example.yaml"))
	if err != nil {
		return err
	}
	said, err := readComments(filepath.Join(root, "internal/result"))
	if err != nil {
		return err
	}
	metrics, err := metricsPage(meters.New().Describe)
	if err != nil {
		return err
	}
	pages := map[string]string{
		"experiment": experimentPage(format, string(example)),
		"service":    servicePage(format),
		"metrics":    metrics,
	}
	for name, document := range map[string]struct {
		schema      func() ([]byte, error)
		kind, intro string
	}{
		"result": {result.JSONSchema, "document", "# Result document\n\n`--json FILE` writes this document, `rpclab report` reads it.\n" +
			"[Stability](../stability.md) says what does not change."},
		"comparison": {result.ComparisonJSONSchema, "comparison", "# Comparison\n\n`rpclab compare A B --json FILE` writes this document."},
	} {
		text, err := document.schema()
		if err != nil {
			return err
		}
		var s schema
		if err := json.Unmarshal(text, &s); err != nil {
			return fmt.Errorf("schema of the %s: %w", document.kind, err)
		}
		if err := os.WriteFile(filepath.Join(to, name+".schema.json"), text, 0o644); err != nil {
			return err
		}
		pages[name] = documentPage(s, document.kind, fmt.Sprintf("%s [The JSON Schema](../%s.schema.json) is for programs.", document.intro, name), said)
	}
	for name, text := range pages {
		if err := write(to, "reference/"+name+".md", []byte(text)); err != nil {
			return err
		}
	}
	return nil
}

// table writes the fields of a schema, and of those below it.
func table(b *strings.Builder, defs map[string]schema, path string, s schema) {
	b.WriteString("| field | values | meaning |\n|---|---|---|\n")
	s.fields(defs, path, func(path string, field schema, required bool) {
		field = field.resolve(defs)
		row(b, path, field.values(defs), field.Description, field.Default, required)
	})
	b.WriteString("\n")
}

func row(b *strings.Builder, path, values, meaning string, fallback any, required bool) {
	if fallback != nil {
		meaning += fmt.Sprintf(" (default: `%v`)", fallback)
	}
	if required {
		values += "; required"
	}
	fmt.Fprintf(b, "| `%s` | %s | %s |\n", path, cell.Replace(values), cell.Replace(strings.TrimSpace(meaning)))
}

// ofArms are fields whose values are settings of arms, which have sections of their own.
var ofArms = []string{"defaults", "quick", "sweep", "services"}

func experimentPage(s schema, example string) string {
	var b strings.Builder
	b.WriteString("# Experiment file\n\nA file of your own, and how to run it:\n\n")
	fmt.Fprintf(&b, "```yaml title=\"docs/example.yaml\"\n%s\n```\n\n```sh\nrpclab run docs/example.yaml\n```\n\n", strings.TrimSpace(example))
	b.WriteString("`rpclab schema` prints the JSON Schema, for editors. [Experiments](../experiments/index.md) shows the files of the\nbuilt-in ones.\n\n## Fields\n\n")
	b.WriteString("| field | values | meaning |\n|---|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		field := s.Properties[name]
		row(&b, name, field.values(s.Defs), field.Description, field.Default, slices.Contains(s.Required, name))
	}
	b.WriteString("\n`defaults` and each arm contain [settings](#settings-of-an-arm). `sweep` and `quick` contain paths of settings, such as\n`load.open.rate`. `services` contains [services](service.md) by name.\n")
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		field := s.Properties[name]
		if name == "arms" || slices.Contains(ofArms, name) || field.Items == nil || len(field.Items.Properties) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n## `%s`\n\n%s.\n\n", name, sentence(field.Description))
		table(&b, s.Defs, "", *field.Items)
	}
	arm, _ := s.Properties["arms"].of()
	b.WriteString("\n## Arms\n\nAn arm has these fields, and settings:\n\n| field | values | meaning |\n|---|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(arm.Properties)) {
		if field := arm.Properties[name]; field.Ref == "" {
			row(&b, name, field.values(s.Defs), field.Description, nil, false)
		}
	}
	b.WriteString("\n## Settings of an arm\n")
	for _, name := range slices.Sorted(maps.Keys(s.Defs)) {
		if strings.Contains(name, ".") {
			continue
		}
		def := s.Defs[name]
		fmt.Fprintf(&b, "\n### `%s`\n\n%s.", name, sentence(def.Description))
		if rows := new(strings.Builder); len(def.Properties) > 0 || len(def.AnyOf) > 0 {
			table(rows, s.Defs, name, def)
			fmt.Fprintf(&b, "\n\n%s", rows)
		} else {
			fmt.Fprintf(&b, " Values: %s.\n", def.values(s.Defs))
		}
	}
	return b.String()
}

func servicePage(s schema) string {
	var b strings.Builder
	b.WriteString("# Service file\n\nThe service that an experiment or a load calls. [Your own service](../your-service.md) explains it step by step.\n" +
		"A file has the name of the service in the field `service`. `services` of an experiment contains these fields by name.\n\n")
	service, _ := s.Properties["services"].of()
	table(&b, s.Defs, "", service)
	return b.String()
}

// documentPage has a section for each kind of object in a document.
func documentPage(s schema, kind, intro string, said comments) string {
	var b strings.Builder
	b.WriteString(intro + "\n\nDurations are in milliseconds, times in UTC. Programs ignore fields that they do not know, because later versions add\nsome.\n")
	section := func(title, kind string, s schema, defs map[string]schema) {
		fmt.Fprintf(&b, "\n## %s\n\n| field | values | meaning |\n|---|---|---|\n", title)
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			field := s.Properties[name]
			values := field.values(defs)
			if to := kindOf(field); to != "" {
				values = fmt.Sprintf("[%s](#%s)", values, to)
			}
			row(&b, name, values, said[kind][name], nil, slices.Contains(s.Required, name))
		}
	}
	section("The document", kind, s, s.Defs)
	for _, name := range slices.Sorted(maps.Keys(s.Defs)) {
		if def := s.Defs[name]; len(def.Properties) > 0 {
			section(name, name, def, s.Defs)
		}
	}
	return b.String()
}

// kindOf is the definition of a field's values, of its list or of its map; empty: they are not objects.
func kindOf(s schema) string {
	if of, ok := s.of(); ok {
		return of.reference()
	}
	if s.Items != nil {
		return s.Items.reference()
	}
	return s.reference()
}

// sentence begins with a capital letter.
func sentence(text string) string {
	if text == "" {
		return text
	}
	return strings.ToUpper(text[:1]) + strings.TrimSuffix(text[1:], ".")
}
