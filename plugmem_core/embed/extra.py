"""What is said when a package of an extra is not installed."""

from plugmem_core.errors import MissingExtraError


def missing(name: str, package: str) -> MissingExtraError:
    """Return the error of something in the extra `embed` that misses a package."""
    return MissingExtraError(
        f"{name} needs {package}; run: pip install 'plugmem-core[embed]'", name=package
    )
