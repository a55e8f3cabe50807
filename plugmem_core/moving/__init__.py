"""Moving and rescuing data: lines of JSON, files that appear in one step, and salvage."""

from plugmem_core.moving.reports import Loss, SalvageReport, TransferReport

__all__ = ["Loss", "SalvageReport", "TransferReport"]
