#!/usr/bin/env bash
# Keeps a company as bundles, the newest ones only; for cron. Needs bash, curl, jq.
# CONTROL_PLANE_URL=… CONTROL_PLANE_KEY=sk_… (role admin) CONTROL_PLANE_COMPANY=<id> back-up-company.sh <folder> [keep]
set -euo pipefail
folder=$1
keep=${2:-14}
file="$folder/$(date -u +%Y-%m-%dT%H%M%SZ).json"
umask 077
mkdir -p "$folder"

curl -sS --fail-with-body --retry 3 -X POST -o "$file.part" \
  -H "Authorization: Bearer $CONTROL_PLANE_KEY" -H 'Content-Type: application/json' -d '{"include": ["issues"]}' \
  "${CONTROL_PLANE_URL%/}/api/companies/$CONTROL_PLANE_COMPANY/export" || { cat "$file.part" >&2; rm -f "$file.part"; exit 1; }
# Only what is whole gets its name.
jq -e '.format == "company-bundle"' "$file.part" >/dev/null
mv "$file.part" "$file"
jq -r '"\(.agents | length) agents, \(.issues | length) issues; left out: \([.manifest.omitted[].what] | join(", "))"' "$file"

find "$folder" -name '*Z.json' -type f | sort -r | tail -n +"$((keep + 1))" | while IFS= read -r old; do rm -- "$old"; done
