"""The custodian's desk: the review of a schema as a page in the browser, on this machine alone."""
