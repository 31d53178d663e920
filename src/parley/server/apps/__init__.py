"""Remote apps: where customers' apps are registered, and how they are talked to.

service        registering, changing, finding
client.AppClient   one app's route: manifest, admission, events, cancel; each call once, guarded, bounded
check.check_app    discovery, in plain words
"""
