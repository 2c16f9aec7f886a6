"""The version, where the build can read it without importing what the package depends on."""

__version__ = "0.1.0.dev0"
