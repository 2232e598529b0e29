"""Files as Spark writes them in tests: without a process and a checksum for each.

Hadoop's native library, which sets permissions by a system call, is no part of PySpark. Without it
a process (chmod) runs for every file and for the file of its checksum, some 140 in a short
streaming query: a quarter of its processor time. Nothing here asks who may read a file.
"""

from __future__ import annotations

from typing import Any

SOURCE = """
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;

public class PlainFiles extends LocalFileSystem {
    public PlainFiles() {
        super(new RawLocalFileSystem() {
            public void setPermission(Path path, FsPermission permission) {}
        });
        setWriteChecksum(false);
    }
}
"""


def use_plain_files(spark: Any) -> None:
    """Lets the session's JVM write local files that way, by the compiler that Spark brings along."""
    jvm, settings = spark._jvm, spark._jsc.hadoopConfiguration()
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.cook(SOURCE)
    settings.setClassLoader(compiler.getClassLoader())
    settings.set("fs.file.impl", "PlainFiles")
    # Whoever opens a file from now on gets the one file system that is made here and kept.
    file_systems = jvm.org.apache.hadoop.fs.FileSystem
    file_systems.closeAll()
    made = file_systems.get(jvm.java.net.URI("file:///"), settings)
    assert made.getClass().getName() == "PlainFiles"


def launch_with_plain_files() -> None:
    """Lets the sessions that the command line launches write that way too."""
    from windrow.run.spark import launch as launching

    launch = launching.launch

    def launched(*about: Any, **settings: Any) -> Any:
        session = launch(*about, **settings)
        use_plain_files(session)
        return session

    launching.launch = launched
