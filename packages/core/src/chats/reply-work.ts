import type { Tx } from '@acp/db';
import { sql } from 'drizzle-orm';
import type { ChatMessageRow } from './present.ts';

/** What an agent did for a reply, as long as its run is kept. */
export interface ReplyWork {
  cost_usd: number;
  tokens: number;
  model: string | null;
  actions: {
    verb: string;
    args: Record<string, unknown>;
    ok: boolean;
    result: string | null;
    error: string | null;
  }[];
}

const ACTIONS = 50;

/** Keyed by run. Only for someone who may see the chat. */
export async function workOfReplies(
  tx: Tx,
  messages: readonly ChatMessageRow[],
): Promise<Map<string, ReplyWork>> {
  const run_ids = messages.flatMap(({ role, run_id }) =>
    role === 'assistant' && run_id !== null ? [run_id] : [],
  );
  if (run_ids.length === 0) return new Map();
  const { rows } = await tx.execute<ReplyWork & { id: string } & Record<string, unknown>>(sql`
    select r.id, r.cost_usd::float8 as cost_usd, r.input_tokens + r.output_tokens as tokens, r.model, coalesce((
      select jsonb_agg(jsonb_build_object('verb', d.verb, 'args', d.args, 'ok', d.ok, 'result', d.result, 'error', d.error)
        order by d.ordinal)
      from (select * from run_actions d where d.run_id = r.id order by d.ordinal limit ${ACTIONS}) d), '[]') as actions
    from heartbeat_runs r
    where r.id in (select value::uuid from jsonb_array_elements_text(${JSON.stringify(run_ids)}::jsonb))`);
  return new Map(rows.map((row) => [row.id, row]));
}
