#!/usr/bin/env bash
# Lists what waits for approval, or decides one. Needs bash, curl, jq.
# CONTROL_PLANE_URL=… CONTROL_PLANE_KEY=sk_… CONTROL_PLANE_COMPANY=<id> approve.sh [approve|reject <id> [note]]
set -euo pipefail

api() { # api METHOD PATH [BODY]
  local answer
  # Of a refusal the body says why.
  answer=$(curl -sS --fail-with-body -X "$1" -H "Authorization: Bearer $CONTROL_PLANE_KEY" \
    ${3:+-H 'Content-Type: application/json' -d "$3"} "${CONTROL_PLANE_URL%/}$2") || {
    jq -r '.error? // .' <<<"$answer" >&2 || echo "$answer" >&2
    return 1
  }
  echo "$answer"
}

if [ $# -eq 0 ]; then
  api GET "/api/companies/$CONTROL_PLANE_COMPANY/approvals?status=pending" |
    jq -r '.[] | "\(.id)  \(.type)  \(.title)"'
else
  note=$(jq -n --arg note "${3:-}" 'if $note == "" then {} else {$note} end')
  api POST "/api/approvals/$2/$1" "$note" | jq -r '"\(.title): \(.status)"'
fi
