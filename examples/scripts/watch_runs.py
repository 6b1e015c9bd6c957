"""Prints each run of a company as it ends, from the live stream, until it has seen as many as are asked for.

CONTROL_PLANE_URL=... CONTROL_PLANE_KEY=sk_... CONTROL_PLANE_COMPANY=<id> python3 watch_runs.py [count] [after]

`after` is the number of an event to go on from; 0 begins with what was missed in the last ten minutes.
Python 3.9 and newer, nothing to install.
"""

import json
import os
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

BASE = os.environ["CONTROL_PLANE_URL"].rstrip("/")
KEY = os.environ["CONTROL_PLANE_KEY"]
COMPANY = os.environ["CONTROL_PLANE_COMPANY"]


def events(after):
    """Events without end: after a break it goes on behind the last one that came."""
    while True:
        query = {"company_id": COMPANY, **({"after": after} if after else {})}
        url = f"{BASE}/api/live/events?{urllib.parse.urlencode(query)}"
        request = urllib.request.Request(url, headers={"Authorization": f"Bearer {KEY}"})
        try:
            # A comment comes every 15 seconds: who hears nothing for longer has lost the connection.
            with urllib.request.urlopen(request, timeout=60) as stream:
                fields = {}
                for raw in stream:
                    line = raw.decode().rstrip("\n")
                    if line:
                        name, _, value = line.partition(": ")
                        fields[name] = value
                        continue
                    # A number may come alone: it says how far the stream is, even if nothing was for this reader.
                    after = fields.get("id", after)
                    if "data" in fields:
                        yield fields["event"], json.loads(fields["data"])
                    fields = {}
        except urllib.error.HTTPError as error:
            if error.code < 500 and error.code != 429:
                sys.exit(f"HTTP {error.code}: {error.read().decode(errors='replace')}")
        except (urllib.error.URLError, TimeoutError, ConnectionError):
            pass
        time.sleep(2)


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    seen = 0
    for event, frame in events(sys.argv[2] if len(sys.argv) > 2 else None):
        if event != "heartbeat_completed":
            continue
        run = frame["data"]
        print(run["status"], run["wake_reason"], run["id"], flush=True)
        seen += 1
        if seen == count:
            return


if __name__ == "__main__":
    main()
