"""One self-contained HTML file: no request leaves it, and no stranger's text in it runs."""
