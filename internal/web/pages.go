package web

import (
	"bytes"
	_ "embed"
	"html/template"
	"net/http"

	"rpclab/internal/report/html"
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

// addPages registers every page. Its script selects the content by the path.
func (s *Server) addPages(mux *http.ServeMux) {
	for _, path := range []string{"/{$}", "/runs", "/trend", "/compare"} {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			s.pages.write(w, s.pages.shell, http.StatusOK, s.Token != "")
		})
	}
	mux.HandleFunc("GET "+loginPath, func(w http.ResponseWriter, _ *http.Request) { s.pages.logIn(w, http.StatusOK, "") })
	mux.HandleFunc("POST "+loginPath, s.logIn)
	mux.HandleFunc("GET /runs/{id}/report", s.report)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.pages.write(w, s.pages.broken, http.StatusNotFound, "The page "+r.URL.Path+" does not exist.")
	})
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

// report serves the report of a run, or a page with the error.
func (s *Server) report(w http.ResponseWriter, r *http.Request) {
	d, err := s.document(r, r.PathValue("id"))
	if err != nil {
		p := problemOf(err)
		s.pages.write(w, s.pages.broken, p.status, p.detail)
		return
	}
	var text bytes.Buffer
	if err := html.Write(&text, d); err != nil {
		s.pages.write(w, s.pages.broken, http.StatusInternalServerError, err.Error())
		return
	}
	w.Header().Set("Content-Security-Policy", html.Policy()+"; frame-ancestors 'none'")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(text.Bytes())
}
