package web

import (
	"bytes"
	_ "embed"
	"html/template"
	"net/http"
)

var (
	//go:embed page.html
	shell string
	//go:embed login.html
	loginPage string
	//go:embed broken.html
	brokenPage string
	//go:embed bundle/live.js
	script string
	//go:embed bundle/live.css
	style string
)

// pages are the HTML documents. Each contains its script and style, with its own nonce.
type pages struct{ shell, login, broken *template.Template }

func newPages() *pages {
	parse := func(text string) *template.Template { return template.Must(template.New("").Parse(text)) }
	return &pages{shell: parse(shell), login: parse(loginPage), broken: parse(brokenPage)}
}

func (p *pages) logIn(w http.ResponseWriter, status int, wrong string) {
	p.write(w, p.login, status, wrong)
}

// write executes the template of a page with its data.
func (p *pages) write(w http.ResponseWriter, page *template.Template, status int, data any) {
	var text bytes.Buffer
	nonce := allowScripts(w.Header())
	if err := page.Execute(&text, struct {
		Nonce  string
		Script template.JS
		Style  template.CSS
		Data   any
	}{nonce, template.JS(script), template.CSS(style), data}); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(text.Bytes())
}
