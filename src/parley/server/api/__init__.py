"""The HTTP shell: the app, its middleware, errors on the wire, health, documentation, the server."""
