"""Receipts: all that is needed to repeat an assessment, and the check that it repeats."""

from understudy.receipt.checking import Check, verify
from understudy.receipt.differences import Change
from understudy.receipt.record import Receipt, of, read

__all__ = ["Change", "Check", "Receipt", "of", "read", "verify"]
