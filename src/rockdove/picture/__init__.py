"""Pictures as SVG text, for reports and plans: no package, no script, light and dark."""
