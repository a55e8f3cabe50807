"""Moving and rescuing data: lines of JSON, files that appear in one step, and salvage."""

from plugmem_core.moving.reports import Loss, Progress, SalvageReport, TransferReport, silent

__all__ = ["Loss", "Progress", "SalvageReport", "TransferReport", "silent"]
