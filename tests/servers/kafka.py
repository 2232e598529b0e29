"""A real Apache Kafka broker for tests: one node (KRaft), on loopback, which a test may kill and start."""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
JARS = ROOT / ".services" / "kafka" / "jars"
JVM = (
    "-Xms256m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
    "-Dlog4j2.level=ERROR", "-Dlog4j.configurationFile=/nowhere",
)  # fmt: skip
READY_S = 60.0

SETTINGS = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,LOGIN:SASL_PLAINTEXT",
    "inter.broker.listener.name": "PLAINTEXT",
    "sasl.enabled.mechanisms": "PLAIN",
    "listener.name.login.plain.sasl.jaas.config": (
        "org.apache.kafka.common.security.plain.PlainLoginModule required user_ann='open';"
    ),
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
    "broker.session.timeout.ms": "1500",  # after a kill, so long until it is let in again
    "broker.heartbeat.interval.ms": "300",
    "auto.create.topics.enable": "false",
    "log.retention.check.interval.ms": "500",
    "log.initial.task.delay.ms": "100",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "200",
    "num.network.threads": "2",
    "num.io.threads": "2",
}


class KafkaBroker:
    """A broker with a folder and ports of its own.

    Args:
        folder: where it keeps its data.
        jvm: options of its Java, in place of those for tests.

    Attributes:
        servers: its address, for clients.
        servers_with_login: where it asks for a login (SASL, PLAIN): ann, open.
    """

    def __init__(self, folder: Path, jvm: tuple[str, ...] = JVM) -> None:
        self._folder = folder
        self._jvm = jvm
        self._process: subprocess.Popen[bytes] | None = None
        port, login, controller = _free_ports(3)
        self.servers = f"127.0.0.1:{port}"
        self.servers_with_login = f"127.0.0.1:{login}"
        ours = f"PLAINTEXT://{self.servers},LOGIN://{self.servers_with_login}"
        folder.mkdir(parents=True, exist_ok=True)
        settings = {
            **SETTINGS,
            "controller.quorum.voters": f"1@127.0.0.1:{controller}",
            "listeners": f"{ours},CONTROLLER://127.0.0.1:{controller}",
            "advertised.listeners": ours,
            "log.dirs": str(folder / "data"),
        }
        self._settings = folder / "server.properties"
        self._settings.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        name = subprocess.run(
            self._command("kafka.tools.StorageTool", "random-uuid"),
            capture_output=True, text=True, check=True,
        ).stdout.split()[-1]  # fmt: skip
        subprocess.run(
            self._command("kafka.tools.StorageTool", "format", "-t", name, "-c", self._settings),
            capture_output=True, check=True,
        )  # fmt: skip

    def start(self) -> None:
        """Starts it, and waits until it answers."""
        with (self._folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                self._command("kafka.Kafka", self._settings), stdout=log, stderr=log
            )
        self._await_ready()

    def kill(self) -> None:
        """Ends it as a power cut would (kill -9)."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """Ends it in order."""
        self._end(signal.SIGTERM)

    def topic(self, prefix: str = "t", partitions: int = 1, **settings: str) -> str:
        """A new topic with a name of its own, ready for use; settings with _ for a dot."""
        from confluent_kafka import KafkaException, TopicPartition
        from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

        name = f"{prefix}-{uuid.uuid4().hex[:10]}"
        config = {key.replace("_", "."): value for key, value in settings.items()}
        made = NewTopic(name, num_partitions=partitions, replication_factor=1, config=config)
        admin = AdminClient({"bootstrap.servers": self.servers})
        admin.create_topics([made])[name].result(30)
        # It is made when the controller says so; the broker leads its partitions a moment later.
        places = [TopicPartition(name, own) for own in range(partitions)]
        until = time.monotonic() + READY_S
        while True:
            asked = dict.fromkeys(places, OffsetSpec.latest())
            try:
                for own in admin.list_offsets(asked, request_timeout=READY_S).values():
                    own.result(READY_S)
            except KafkaException as error:
                if time.monotonic() > until:
                    raise RuntimeError(f"{name} has no leader after {READY_S:.0f} s") from error
            else:
                return name

    def _end(self, by: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(by)
            self._process.wait(60)
            self._process = None

    def _command(self, *arguments: object) -> list[str]:
        return [f"{_java()}/bin/java", *self._jvm, "-cp", f"{JARS}/*", *map(str, arguments)]

    def _await_ready(self) -> None:
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import AdminClient

        admin = AdminClient({"bootstrap.servers": self.servers, "log_level": 0})
        until = time.monotonic() + READY_S
        while True:
            if self._process is None or self._process.poll() is not None:
                log = (self._folder / "server.log").read_text()[-2000:]
                raise RuntimeError(f"the broker ended as it began:\n{log}")
            try:
                if admin.list_topics(timeout=1).brokers:
                    return
            except KafkaException:
                if time.monotonic() > until:
                    raise


def missing() -> str:
    """What is missing for a broker; nothing: the empty text."""
    if not JARS.is_dir() or not any(JARS.glob("kafka_2.13-*.jar")):
        return "Kafka is not there: run  make services"
    return ""


@cache
def of_this_process() -> KafkaBroker:
    """The broker of this process, started once."""
    folder = Path(tempfile.mkdtemp(prefix="windrow-kafka-"))
    broker = KafkaBroker(folder)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    atexit.register(broker.kill)
    broker.start()
    return broker


def _free_ports(count: int) -> list[int]:
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [own.getsockname()[1] for own in held]
    for own in held:
        own.close()
    return ports


def _java() -> str:
    if "JAVA_HOME" in os.environ:
        return os.environ["JAVA_HOME"]
    found = subprocess.run(
        [ROOT / "scripts" / "java"], capture_output=True, text=True, check=True
    ).stdout.strip()
    assert shutil.which("java", path=f"{found}/bin")
    os.environ["JAVA_HOME"] = found
    return found
