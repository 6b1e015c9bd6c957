import type { PluginEvent } from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { storableText } from '@acp/kernel';
import { sql } from 'drizzle-orm';

const { plugin_events } = schema;

/** A line of the events log. */
export interface PluginLine {
  plugin_id: string;
  type: Extract<PluginEvent['type'], 'log' | 'error' | 'denied'>;
  level: PluginEvent['level'];
  message: string;
  details?: Record<string, unknown>;
}

const LONGEST_MESSAGE = 4000;

/** Appends messages of plugins, except for those that were deleted in the meantime. */
export async function appendPluginLines(tx: Tx, lines: readonly PluginLine[]): Promise<void> {
  if (lines.length === 0) return;
  const rows = lines.map(({ message, details = {}, ...line }) => ({
    ...line,
    message: storableText(message.slice(0, LONGEST_MESSAGE)),
    details,
  }));
  await tx.execute(sql`
    insert into plugin_events (plugin_id, type, level, message, details)
    select l.plugin_id, l.type, l.level, l.message, l.details
    from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
      as l(plugin_id uuid, type text, level text, message text, details jsonb)
    join ${schema.plugins} p on p.id = l.plugin_id
    for key share of p`);
}

const KEPT_ROWS = 2000;
const KEPT_DAYS = 30;

/** Keeps the newest rows of each plugin for a month. @returns number of rows deleted */
export async function deleteOldPluginEvents(tx: Tx, limit: number): Promise<number> {
  const { rowCount } = await tx.execute(sql`
    delete from ${plugin_events} where id in (
      select e.id from plugins p cross join lateral (
        select id, created_at from plugin_events where plugin_id = p.id
        order by created_at desc, ordinal desc offset ${KEPT_ROWS}
      ) e
      union all
      select id from plugin_events where created_at < now() - make_interval(days => ${KEPT_DAYS})
      limit ${limit}
    )`);
  return rowCount ?? 0;
}
