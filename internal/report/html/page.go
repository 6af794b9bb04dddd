// Package html draws a result as one self-contained page: texts and tables from package
// report, pictures by a script from the page's own data. It asks the network for nothing.
package html

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"

	"rpclab/internal/report"
	"rpclab/internal/result"
)

var (
	//go:embed page.html
	layout string
	//go:embed bundle/report.js
	script string
	//go:embed bundle/report.css
	style string

	pageTemplate = template.Must(template.New("page").Funcs(functions).Parse(layout))
)

// content is what the layout is filled with.
type content struct {
	report.Sections
	Title, Policy string
	Run           run
	View          View
	Figures       figures
	Script, Data  template.JS
	Style         template.CSS
	Site
}

// Link leads from a report to another page.
type Link struct{ Text, URL string }

// Site is what a report has of the site that serves it.
type Site struct {
	Links []Link
	// Accept is where a form of the report posts, which accepts a run that failed; empty: there is no form.
	Accept string
}

// Write writes the report of a run, whether it is over or not.
func Write(w io.Writer, d result.Document) error { return WriteFor(w, d, Site{}) }

// WriteFor writes the report of a run for a site that serves it.
func WriteFor(w io.Writer, d result.Document, site Site) error {
	view := ViewOf(d)
	data, err := json.Marshal(view) // with <, > and & escaped, and U+2028
	if err != nil {
		return fmt.Errorf("draw run %s: %w", d.ID, err)
	}
	var page bytes.Buffer
	if err := pageTemplate.Execute(&page, content{
		Sections: report.SectionsOf(d), Title: title(d), Policy: site.SecurityPolicy(), Run: about(d), View: view, Figures: worthDrawing(view),
		Script: template.JS(script), Data: template.JS(data), Style: template.CSS(style), Site: site,
	}); err != nil {
		return fmt.Errorf("draw run %s: %w", d.ID, err)
	}
	_, err = w.Write(page.Bytes())
	return err
}

func title(d result.Document) string {
	return report.Clean(d.Experiment) + ", " + d.Started.UTC().Format("2 January 2006") + " – rpclab"
}

// SecurityPolicy is the page's Content-Security-Policy: this script, this style, the form, and nothing else.
func (s Site) SecurityPolicy() string {
	forms := "'none'"
	if s.Accept != "" {
		forms = "'self'"
	}
	return "default-src 'none'; script-src '" + digest(script) + "'; style-src '" + digest(style) +
		"'; img-src data:; base-uri 'none'; form-action " + forms
}

// digest is a hash-source of Content Security Policy Level 3, section 2.3.1.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}
