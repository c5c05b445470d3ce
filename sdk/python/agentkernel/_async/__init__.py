"""The SDK with `async`. What is in `_sync` is written from it by make_sync.py."""
