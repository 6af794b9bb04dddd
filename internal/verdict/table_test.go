package verdict

// summaryPage, page and acrossPage have the tables of this package's simulations.
const (
	summaryPage = "../../docs/method/statistics.md"
	page        = "../../docs/method/statistics-tables.md"
	acrossPage  = "../../docs/method/comparing.md"
)
