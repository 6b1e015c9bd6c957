import { type SecurityEvent, type SecurityEventFilter, securityEndpoints as rows } from '@acp/contract';
import { eachSecurityEvent, listSecurityEvents } from '@acp/core';
import type { Tx } from '@acp/db';
import type { Response } from 'express';
import { once } from 'node:events';
import { handle, type Route } from '../../http/handle.ts';
import { paged } from '../../http/paged.ts';

export const securityRoutes: Route[] = [
  handle(rows.list, async (c) => paged(c, await listSecurityEvents(c.tx, null, c.query))),
  handle(rows.download, (c) => sendExport(c.response, c.tx, null, c.query)),
  handle(rows.listOfCompany, async (c) => paged(c, await listSecurityEvents(c.tx, c.company_id, c.query))),
  handle(rows.downloadOfCompany, (c) => sendExport(c.response, c.tx, c.company_id, c.query)),
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

/** Sends events one page at a time, no faster than the client reads them. */
async function sendExport(
  response: Response,
  tx: Tx,
  company_id: string | null,
  { format = 'json', ...filter }: SecurityEventFilter & { format?: 'json' | 'csv' },
): Promise<void> {
  const csv = format === 'csv';
  const day = new Date().toISOString().slice(0, 10);
  const name = `security-events-${day}.${csv ? 'csv' : 'jsonl'}`;
  response.attachment(name).type(csv ? 'text/csv; charset=utf-8' : 'application/x-ndjson; charset=utf-8');
  if (csv) response.write(`${columns.join(',')}\r\n`);
  for await (const events of eachSecurityEvent(tx, company_id, filter)) {
    if (response.destroyed) return;
    const text = events.map((event) => (csv ? csvLine(event) : `${JSON.stringify(event)}\n`)).join('');
    if (!response.write(text)) await Promise.race([once(response, 'drain'), once(response, 'close')]);
  }
  response.end();
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
