#!/usr/bin/env python3
"""A daily digest of a company's work: a plugin in Python, with nothing but its standard library.

It counts what happens (events), takes remarks from outside (webhook), tells agents and people what a day came to
(tools), and posts the digest of yesterday on weekday mornings (job). The first half of this file is the protocol, for
any plugin in Python; the second half is this one.
"""

import base64
import itertools
import json
import os
import queue
import sqlite3
import sys
import threading
from datetime import date, datetime, timedelta, timezone

PROTOCOL_VERSION = 1
MAX_MESSAGE_BYTES = 1_048_576
HOST_TIMEOUT_S = 40


# --- The protocol: one JSON object a line, {"type": ..., "payload": ...} -----------------------------------------------


class HostError(Exception):
    """The host refused, or could not."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


class Channel:
    """Lines to and from the host. Any thread may write; the main thread alone reads."""

    def __init__(self):
        # What a library prints must not get among the messages: it goes to standard error.
        self._output = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
        sys.stdout = sys.stderr
        self._lock = threading.Lock()
        self._waiting = {}
        self._numbers = itertools.count(1)

    def send(self, kind, payload):
        line = json.dumps({"type": kind, "payload": payload}, separators=(",", ":")).encode() + b"\n"
        if len(line) > MAX_MESSAGE_BYTES:
            raise ValueError(f"a message of {len(line)} bytes: {MAX_MESSAGE_BYTES} is the most")
        with self._lock:
            self._output.write(line)
            self._output.flush()

    def log(self, level, message):
        self.send("log", {"level": level, "message": message})

    def request(self, service, args):
        """Asks the host and waits for what it answers. Not for the thread that reads."""
        request_id = f"h{next(self._numbers)}"
        answer = self._waiting[request_id] = queue.SimpleQueue()
        try:
            self.send("host_request", {"service": service, "args": args, "request_id": request_id})
            reply = answer.get(timeout=HOST_TIMEOUT_S)
        except queue.Empty:
            raise HostError("timeout", f"the host did not answer {service}") from None
        finally:
            self._waiting.pop(request_id, None)
        error = reply.get("error")
        if error is not None:
            raise HostError(error["code"], error["message"])
        return reply["result"]

    def settle(self, reply):
        answer = self._waiting.get(reply.get("request_id"))
        if answer is not None:
            answer.put(reply)


def serve(plugin):
    """Reads until the host ends it. What takes time is done by one worker, in the order in which it came."""
    channel = Channel()
    work = queue.SimpleQueue()
    worker = threading.Thread(target=_work, args=(plugin, channel, work), daemon=True)
    worker.start()
    for line in sys.stdin.buffer:
        try:
            message = json.loads(line)
            kind, payload = message["type"], message.get("payload") or {}
        except (ValueError, TypeError, KeyError, AttributeError):
            channel.log("error", "the host sent a line that is no message")
            continue
        if kind == "shutdown":
            break
        if kind == "tool_result":
            channel.settle(payload)
        elif kind == "health_check":
            channel.send("health_check", {})
        else:
            work.put((kind, payload))
    work.put(None)
    worker.join(timeout=4)


def _work(plugin, channel, work):
    while (item := work.get()) is not None:
        kind, payload = item
        try:
            _answer(plugin, channel, kind, payload)
        except Exception as error:  # noqa: BLE001 - whatever it was: the next message has a right to be answered
            channel.log("error", f"{kind}: {type(error).__name__}: {error}")
            if kind == "init":
                channel.send("error", {"message": str(error), "code": "init_failed"})
                os._exit(1)


def _answer(plugin, channel, kind, payload):
    if kind == "init":
        plugin.start(channel, payload)
        channel.send("ready", {"manifest": plugin.manifest, "protocol_version": PROTOCOL_VERSION})
    elif kind == "invoke_tool":
        reply = {"request_id": payload["request_id"], "result": None, "error": None}
        try:
            reply["result"] = plugin.tools[payload["tool"]](payload["input"])
            channel.send("tool_result", reply)
        except Exception as error:  # noqa: BLE001 - what went wrong is told to whoever called the tool
            message = f"{type(error).__name__}: {error}"[:10_000]
            channel.send("tool_result", {**reply, "result": None, "error": {"message": message}})
    elif kind == "trigger_event":
        try:
            plugin.event(payload)
        finally:
            channel.send("event_handled", {"event_type": payload["event_type"], "result": None})
    elif kind == "run_job":
        reply = {"job_name": payload["job_name"], "result": None, "error": None}
        try:
            reply["result"] = plugin.jobs[payload["job_name"]](payload)
        except Exception as error:  # noqa: BLE001 - it stands in the job's history
            reply["error"] = {"message": str(error)}
        channel.send("job_result", reply)
    elif kind == "deliver_webhook":
        plugin.webhooks[payload["path"]](payload)
    # Anything else is of a later protocol.


def body_of(payload):
    """The bytes of a webhook, from the line or from the file that stands in for a long one."""
    if payload.get("body_file"):
        with open(payload["body_file"], "rb") as file:
            return file.read()
    body = payload.get("body") or ""
    return base64.b64decode(body) if payload.get("body_encoding") == "base64" else body.encode()


# --- The plugin --------------------------------------------------------------------------------------------------------

KEPT_DAYS = 90
MAX_NOTE = 2000
COUNTED = {
    "issue.created": "issues created",
    "comment.created": "comments",
    "agent.finished": "runs of agents",
    "approval.created": "approvals asked for",
}


class Digest:
    manifest = {
        "name": "Digest",
        "tools": [
            {
                "namespace": "digest",
                "name": "report",
                "description": "What happened in the company on the last days, day by day, as Markdown.",
                "input_schema": {
                    "type": "object",
                    "properties": {"days": {"type": "integer", "minimum": 1, "maximum": 31, "default": 1}},
                    "additionalProperties": False,
                },
            },
            {
                "namespace": "digest",
                "name": "note",
                "description": "Puts a remark into today's digest.",
                "input_schema": {
                    "type": "object",
                    "properties": {"text": {"type": "string", "minLength": 1, "maxLength": MAX_NOTE}},
                    "required": ["text"],
                    "additionalProperties": False,
                },
            },
        ],
        "events": ["issue.created", "issue.updated", "comment.created", "agent.finished", "approval.created"],
        "jobs": [{"name": "post", "schedule": "0 7 * * 1-5"}],
        "webhooks": [{"path": "digest/note"}],
    }

    def __init__(self):
        self.tools = {"report": self.report, "note": self.note}
        self.jobs = {"post": self.post}
        self.webhooks = {"digest/note": self.noted}

    def start(self, channel, init):
        self.channel = channel
        self.post_url = (init.get("config") or {}).get("post_url")
        if self.post_url is not None and not str(self.post_url).startswith("https://"):
            raise ValueError("config.post_url must begin with https://")
        folder = os.environ.get("SERVICE_PLUGIN_WORKSPACE", ".")
        self.db = sqlite3.connect(os.path.join(folder, "digest.sqlite"), check_same_thread=False)
        self.db.executescript(
            """
            create table if not exists happened (event_id text primary key, day text, kind text, title text);
            create index if not exists happened_by_day on happened (day);
            create table if not exists notes (id integer primary key, day text, text text);
            """
        )
        self._forget()

    def event(self, payload):
        kind, data = payload["event_type"], payload["data"]
        day = (payload.get("occurred_at") or datetime.now(timezone.utc).isoformat())[:10]
        # Events come at least once: one that is known by its id counts no second time.
        event_id = payload.get("event_id") or os.urandom(16).hex()
        if kind == "issue.updated":
            if data.get("status") != "done":
                return
            # Further changes of an issue that is done are the same end.
            event_id = f"done:{data.get('id')}:{day}"
        title = str(data.get("title") or "")[:200]
        with self.db:
            self.db.execute("insert or ignore into happened values (?, ?, ?, ?)", (event_id, day, kind, title))

    def report(self, value):
        days = value.get("days", 1)
        if not isinstance(days, int) or isinstance(days, bool) or not 1 <= days <= 31:
            raise ValueError("days must be a whole number from 1 to 31")
        today = datetime.now(timezone.utc).date()
        return {"markdown": "\n\n".join(self._day(today - timedelta(days=back)) for back in range(days))}

    def note(self, value):
        text = value.get("text")
        if not isinstance(text, str) or not text.strip():
            raise ValueError("text must say something")
        self._note(text)
        return {"noted": True}

    def noted(self, payload):
        self._note(body_of(payload).decode("utf-8", "replace"))

    def post(self, tick):
        """The digest of the last working day, to where the admins want it."""
        due = date.fromisoformat(tick.get("scheduled_at", datetime.now(timezone.utc).isoformat())[:10])
        text = self._day(due - timedelta(days=3 if due.weekday() == 0 else 1))
        self._forget()
        if self.post_url is None:
            self.channel.log("info", text)
            return {"posted": False}
        headers = {"content-type": "application/json"}
        args = {"url": self.post_url, "method": "POST", "headers": headers, "body": json.dumps({"text": text})}
        status = self.channel.request("http_fetch", args)["status"]
        if status >= 300:
            raise RuntimeError(f"the post was answered with {status}")
        return {"posted": True}

    def _note(self, text):
        day = datetime.now(timezone.utc).date().isoformat()
        with self.db:
            self.db.execute("insert into notes (day, text) values (?, ?)", (day, text.strip()[:MAX_NOTE]))

    def _day(self, day):
        counts = dict(
            self.db.execute("select kind, count(*) from happened where day = ? group by kind", (day.isoformat(),))
        )
        lines = [f"- {counts[kind]} {words}" for kind, words in COUNTED.items() if kind in counts]
        done = self.db.execute(
            "select title from happened where day = ? and kind = 'issue.updated' order by rowid limit 20",
            (day.isoformat(),),
        ).fetchall()
        lines += [f"- done: {title}" for (title,) in done]
        notes = self.db.execute("select text from notes where day = ? order by id limit 50", (day.isoformat(),))
        lines += [f"- note: {text}" for (text,) in notes.fetchall()]
        return "\n".join([f"## {day.isoformat()}", "", *(lines or ["Nothing happened."])])

    def _forget(self):
        oldest = (datetime.now(timezone.utc).date() - timedelta(days=KEPT_DAYS)).isoformat()
        with self.db:
            self.db.execute("delete from happened where day < ?", (oldest,))
            self.db.execute("delete from notes where day < ?", (oldest,))


if __name__ == "__main__":
    serve(Digest())
