"""The logging configuration of brokers and clients: log4j 2, and log4j 1 before Kafka 4.0."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from xml.sax.saxutils import quoteattr

from brokers import Broker, Plan, jars

UNLOGGED_CLIENT = "lab-unlogged"
"""The client id of requests that only prepare the cluster, and are not logged (log4j 2 only)."""

KAFKAS_PATTERN = "[%d] %p %m (%c)%n"
"""The layout of a line in Kafka's own configurations."""

_LOG4J2 = """<?xml version="1.0" encoding="UTF-8"?>
<Configuration status="ERROR" shutdownHook="disable">
  <Appenders>
    <File name="server" fileName={server}><PatternLayout pattern="[%d] %p %m (%c)%n"/></File>
    <RollingFile name="requests" fileName={requests} filePattern={rolled}>
      <RegexFilter regex={unlogged} onMatch="DENY" onMismatch="NEUTRAL"/>
      <PatternLayout pattern="[%d] %p %m (%c)%n"/>
      <SizeBasedTriggeringPolicy size="{roll_bytes}"/>
      <DefaultRolloverStrategy fileIndex="nomax"/>
    </RollingFile>
  </Appenders>
  <Loggers>
    <Root level="INFO"><AppenderRef ref="server"/></Root>
    <Logger name="org.apache.kafka.common.config.AbstractConfig" level="WARN"/>
    <Logger name="kafka.request.logger" level="DEBUG" additivity="false">
      <AppenderRef ref="requests"/>
    </Logger>
  </Loggers>
</Configuration>
"""

# Before 4.0. The files are not rolled: log4j 1 would number the newest one 1.
_LOG4J1 = """log4j.rootLogger=INFO, server
log4j.appender.server=org.apache.log4j.FileAppender
log4j.appender.server.File={server}
log4j.appender.server.layout=org.apache.log4j.PatternLayout
log4j.appender.server.layout.ConversionPattern=[%d] %p %m (%c)%n
log4j.appender.requests=org.apache.log4j.FileAppender
log4j.appender.requests.File={requests}
log4j.appender.requests.layout=org.apache.log4j.PatternLayout
log4j.appender.requests.layout.ConversionPattern=[%d] %p %m (%c)%n
{filters}log4j.logger.org.apache.kafka.common.config.AbstractConfig=WARN
log4j.logger.kafka.server.KafkaConfig=WARN
log4j.logger.kafka.request.logger=DEBUG, requests
log4j.additivity.kafka.request.logger=false
"""

_LOG4J1_FILTER = """log4j.appender.requests.filter.{name}=org.apache.log4j.varia.StringMatchFilter
log4j.appender.requests.filter.{name}.StringToMatch="requestApiKeyName":"{name}"
log4j.appender.requests.filter.{name}.AcceptOnMatch=false
"""

_CLIENT_LOG4J2 = """<?xml version="1.0" encoding="UTF-8"?>
<Configuration status="ERROR">
  <Appenders>
    <Console name="out"><PatternLayout pattern={pattern}/></Console>
  </Appenders>
  <Loggers>
    <Root level="{root}"><AppenderRef ref="out"/></Root>
{loggers}  </Loggers>
</Configuration>
"""
_CLIENT_LOG4J1 = """log4j.rootLogger={root}, out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern={pattern}
{loggers}"""
_QUIET = {"org.apache.kafka.common.config.AbstractConfig": "WARN"}


def client_logging(
    version: str,
    stem: Path,
    root: str,
    loggers: Mapping[str, str] | None = None,
    pattern: str | None = None,
) -> str:
    """The system property by which a client logs to its output: level ``root``, or that of its logger.

    ``pattern`` is that of the layout, by default the one of Kafka's own tools.
    """
    pattern = pattern or KAFKAS_PATTERN
    levels = {**_QUIET, **(loggers or {})}
    if _is_log4j1(version):
        config, option = stem.with_suffix(".log4j"), "log4j.configuration=file:"
        lines = "".join(f"log4j.logger.{name}={level}\n" for name, level in levels.items())
        config.write_text(_CLIENT_LOG4J1.format(root=root, loggers=lines, pattern=pattern))
    else:
        config, option = stem.with_suffix(".xml"), "log4j2.configurationFile="
        lines = "".join(f'    <Logger name="{name}" level="{level}"/>\n' for name, level in levels.items())
        config.write_text(_CLIENT_LOG4J2.format(root=root, loggers=lines, pattern=quoteattr(pattern)))
    return f"-D{option}{config}"


def _is_log4j1(version: str) -> bool:
    return any(jars(version).glob("reload4j-*.jar"))


def broker_logging(plan: Plan, broker: Broker) -> tuple[str, str, str]:
    """A broker's logging: its system property, and the name and the text of the configuration file."""
    if _is_log4j1(plan.version):
        name, text = "log4j.properties", _log4j1(plan, broker)
        return f"-Dlog4j.configuration=file:{broker.home / name}", name, text
    name, text = "log4j2.xml", _log4j2(plan, broker)
    return f"-Dlog4j2.configurationFile={broker.home / name}", name, text


def _log4j1(plan: Plan, broker: Broker) -> str:
    """The same as ``log4j2`` for brokers before 4.0."""
    return _LOG4J1.format(
        server=broker.home / "server.log",
        requests=broker.home / "kafka-request.log",
        filters="".join(_LOG4J1_FILTER.format(name=name) for name in plan.unlogged),
    )


def _log4j2(plan: Plan, broker: Broker) -> str:
    """The logging configuration of a broker: server.log, and every request but the noise at DEBUG."""
    requests = broker.home / "kafka-request.log"
    unlogged = [*(f'requestApiKeyName":"{name}' for name in plan.unlogged), f'clientId":"{UNLOGGED_CLIENT}']
    return _LOG4J2.format(
        server=quoteattr(str(broker.home / "server.log")),
        requests=quoteattr(str(requests)),
        rolled=quoteattr(f"{requests}.%i.gz"),
        unlogged=quoteattr(f'.*"({"|".join(unlogged)})".*'),
        roll_bytes=plan.roll_bytes,
    )
