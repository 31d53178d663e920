"""The dashboard: static modules and the session sign-in. It has no rights of its own."""
