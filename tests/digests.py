"""Files compared by their digests: pytest's difference of two megabytes would take hours."""

from hashlib import sha256


def digest(path):
    """SHA-256 of a file."""
    return sha256(path.read_bytes()).hexdigest()


def digests(folder, pattern="*"):
    """Digest of each file in a folder and below it, by its path there."""
    found = (each for each in folder.rglob(pattern) if each.is_file())
    return {str(each.relative_to(folder)): digest(each) for each in found}
