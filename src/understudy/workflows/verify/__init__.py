"""Receipts: all that is needed to repeat an assessment, and the check that it repeats."""

from understudy.workflows.verify.checking import Check, verify
from understudy.workflows.verify.differences import Change
from understudy.workflows.verify.record import Receipt, of, read

__all__ = ["Change", "Check", "Receipt", "of", "read", "verify"]
