"""The parts of `fuzz.py`: inputs (`mutation`), what reads them (`loaders`), how they are tried (`trial`)."""
