"""Mechanisms: the only doors from sealed to public; each is paid before it draws."""
