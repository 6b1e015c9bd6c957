import { type SecurityEvent, type SecurityEventFilter, securityEndpoints as rows } from '@acp/contract';
import { eachSecurityEvent, listSecurityEvents } from '@acp/core';
import type { Tx } from '@acp/db';
import type { Request, Response } from 'express';
import { handle, type Route } from '../../http/handle.ts';
import { paged } from '../../http/paged.ts';
import { sendLines } from '../../http/send-lines.ts';

export const securityRoutes: Route[] = [
  handle(rows.list, async (c) => paged(c, await listSecurityEvents(c.tx, null, c.query))),
  handle(rows.download, (c) => sendExport(c, null, c.query)),
  handle(rows.listOfCompany, async (c) => paged(c, await listSecurityEvents(c.tx, c.company_id, c.query))),
  handle(rows.downloadOfCompany, (c) => sendExport(c, c.company_id, c.query)),
];

const columns = [
  'created_at',
  'kind',
  'subject',
  'address',
  'user_agent',
  'user_id',
  'key_id',
  'company_id',
  'details',
  'id',
] as const satisfies readonly (keyof SecurityEvent)[];

async function sendExport(
  call: { request: Request; response: Response; tx: Tx },
  company_id: string | null,
  { format = 'json', ...filter }: SecurityEventFilter & { format?: 'json' | 'csv' },
): Promise<void> {
  const csv = format === 'csv';
  const day = new Date().toISOString().slice(0, 10);
  const file = {
    filename: `security-events-${day}.${csv ? 'csv' : 'jsonl'}`,
    type: csv ? 'text/csv' : 'application/x-ndjson',
  };
  const pages = eachSecurityEvent(call.tx, company_id, filter);
  await sendLines(call, file, csv ? csvOf(pages) : jsonOf(pages));
}

type Pages = AsyncIterable<readonly SecurityEvent[]>;

async function* csvOf(pages: Pages): AsyncGenerator<string> {
  let head = `${columns.join(',')}\r\n`;
  for await (const events of pages) {
    yield head + events.map(csvLine).join('');
    head = '';
  }
  yield head;
}

async function* jsonOf(pages: Pages): AsyncGenerator<string> {
  for await (const events of pages) yield events.map((event) => `${JSON.stringify(event)}\n`).join('');
}

const csvLine = (event: SecurityEvent): string =>
  `${columns.map((column) => csvCell(event[column])).join(',')}\r\n`;

/** Quoted per RFC 4180. Anything a spreadsheet would read as a formula becomes text: strangers write into this log. */
function csvCell(value: SecurityEvent[keyof SecurityEvent]): string {
  if (value === null) return '';
  const text =
    value instanceof Date ? value.toISOString() : typeof value === 'object' ? JSON.stringify(value) : value;
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return `"${safe.replaceAll('"', '""')}"`;
}
