"""The one guarded way out to addresses that customers name."""
