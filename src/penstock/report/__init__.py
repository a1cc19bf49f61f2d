"""Pages and pictures: what people look at, in public and at the custodian's desk."""
