"""What Spark's errors say of an expression: the reason in a line, and whether data is its cause."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException, ParseException, PySparkException

from replication.errors import ConfigError

if TYPE_CHECKING:
    from replication.settings.transform_settings import SettingText


def sql_reason(error: Exception) -> str:
    """Return what Spark says of an expression, in one line, without its plans."""
    text = str(error).partition("JVM stacktrace:")[0].partition("== SQL")[0]
    text = text.partition("== DataFrame ==")[0].partition(";\n")[0]
    return " ".join(text.split()) or type(error).__name__


def job_reason(error: Exception) -> str:
    """Return why a Spark job could not be run; ConnectionError: the driver's JVM is gone."""
    if isinstance(error, ConnectionError):
        return f"Spark's JVM does not answer: {error.strerror or error}"
    return f"Spark: {sql_reason(error)}"


def is_about_data(error: Exception) -> bool:
    """Say whether a job failed on what an expression made of a record, not on a cluster."""
    if not isinstance(error, PySparkException):
        return False
    # Its text may name a file of ours without that: where an expression was made.
    return bool(error.getCondition()) and "PythonException" not in str(error)


def planned(written: SettingText, make):  # type: ignore[no-untyped-def]
    """Return what ``make`` makes; Spark's refusal becomes a ConfigError at the file's line."""
    try:
        found = make()
        if hasattr(found, "schema"):
            found.schema  # noqa: B018 - Spark analyses what it is asked about
    except (AnalysisException, ParseException) as error:
        raise ConfigError(f"{written.where}: {sql_reason(error)}") from None
    return found
