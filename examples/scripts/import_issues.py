"""Makes an issue of each line of a CSV file with the columns title, body, priority.

CONTROL_PLANE_URL=... CONTROL_PLANE_KEY=sk_... CONTROL_PLANE_COMPANY=<id> python3 import_issues.py <issues.csv

Run again with the same file within 24 hours it makes nothing twice, so a broken import is simply repeated: the key of
each request follows from the line and its position. After that the service has forgotten the keys, and a repeat imports
everything again. Two identical lines are two issues; add new lines at the end, since an inserted one moves the others.
Python 3.9 and newer, nothing to install.
"""

import csv
import hashlib
import json
import os
import sys
import time
import urllib.error
import urllib.request

BASE = os.environ["CONTROL_PLANE_URL"].rstrip("/")
KEY = os.environ["CONTROL_PLANE_KEY"]
COMPANY = os.environ["CONTROL_PLANE_COMPANY"]
ATTEMPTS = 5


def post(path, body, idempotency_key):
    """The answer of the service. What is refused for the moment is tried again."""
    request = urllib.request.Request(
        BASE + path,
        data=json.dumps(body).encode(),
        method="POST",
        headers={
            "Authorization": f"Bearer {KEY}",
            "Content-Type": "application/json",
            "Idempotency-Key": idempotency_key,
        },
    )
    for attempt in range(1, ATTEMPTS + 1):
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            said = error.read().decode(errors="replace")
            if error.code not in (429, 502, 503, 504) or attempt == ATTEMPTS:
                sys.exit(f"HTTP {error.code}: {said}")
            time.sleep(float(error.headers.get("Retry-After") or attempt))
        except urllib.error.URLError as error:
            if attempt == ATTEMPTS:
                sys.exit(f"no connection: {error.reason}")
            time.sleep(attempt)


def main():
    if len(sys.argv) > 1 or sys.stdin.isatty():
        sys.exit("usage: import_issues.py <issues.csv (the file is read from standard input)")
    for position, row in enumerate(csv.DictReader(sys.stdin)):
        body = {"title": row["title"], "body_markdown": row.get("body") or None}
        if row.get("priority"):
            body["priority"] = row["priority"]
        line = json.dumps([position, body], sort_keys=True).encode()
        key = "import-" + hashlib.sha256(line).hexdigest()
        issue = post(f"/api/companies/{COMPANY}/issues", body, key)
        print(issue["identifier"], issue["title"])


if __name__ == "__main__":
    main()
