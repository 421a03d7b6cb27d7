"""Compiled loops: arrays in, arrays out, missing is a code and never a nan."""

from pathlib import Path


def compiled_before() -> bool:
    """Tell whether the kernels were compiled on this machine before and are kept on disk."""
    from understudy.kernels.neighbors import hamming

    return any(Path(hamming._scan._cache.cache_path).glob("hamming._scan*.nbi"))
