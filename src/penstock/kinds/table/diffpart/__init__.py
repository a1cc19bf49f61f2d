"""DiffPart for records: a table divided along the taxonomies of its columns."""
