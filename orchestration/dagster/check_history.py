"""The last finished result of an asset check, also while another run of it is under way."""

from typing import NamedTuple

import dagster as dg

_LOOKED_AT = 20  # records: each run of a check that has not ended, or died, left one


class Evaluated(NamedTuple):
    """A result, and when it was stored, in seconds since 1970."""

    evaluation: dg.AssetCheckEvaluation
    at_s: float


def last_result(instance: dg.DagsterInstance, key: dg.AssetCheckKey) -> Evaluated | None:
    """Return the newest result; None: there is none yet.

    The newest record of a check that runs, or whose run died, has a plan instead of a result.
    """
    newest = instance.get_latest_asset_check_evaluation_record(key)
    if newest is None:
        return None
    if isinstance(newest.evaluation, dg.AssetCheckEvaluation):
        return Evaluated(newest.evaluation, newest.create_timestamp)
    history = instance.event_log_storage.get_asset_check_execution_history(key, limit=_LOOKED_AT)
    for each in history:
        if isinstance(each.evaluation, dg.AssetCheckEvaluation):
            return Evaluated(each.evaluation, each.create_timestamp)
    return None
