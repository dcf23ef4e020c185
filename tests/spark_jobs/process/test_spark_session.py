"""What Spark says when it does not start."""

from __future__ import annotations

from spark_jobs.process.spark_session import java_problem

OUTPUT = """\
An error occurred while calling None.org.apache.spark.api.java.JavaSparkContext.
: java.io.FileNotFoundException: File file:/nowhere/events does not exist
\tat org.apache.hadoop.fs.RawLocalFileSystem.deprecatedGetFileStatus(RawLocalFileSystem.java:917)
"""


def test_bl_239_a_java_exception_is_one_line_without_its_stack_trace():
    line = "java.io.FileNotFoundException: File file:/nowhere/events does not exist"
    assert java_problem(Exception(OUTPUT)) == line
    assert java_problem(Exception("connection lost\nmore")) == "connection lost"
