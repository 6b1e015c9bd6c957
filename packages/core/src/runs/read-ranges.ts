import type { Tx } from '@acp/db';
import { sql } from 'drizzle-orm';
import type { TranscriptSignal } from './run-events.ts';
import type { RunAudience } from './types.ts';

/** Transcript entries `from` to `to` of a run, as named by the `transcripts` channel. */
export type TranscriptRange = TranscriptSignal;

export interface TranscriptEntry extends RunAudience {
  run_id: string;
  company_id: string;
  seq: number;
  kind: string;
  payload: Record<string, unknown>;
  created_at: Date;
}

/** The entries of all ranges in one statement, ordered by run and `seq`. */
export async function listTranscriptRanges(
  tx: Tx,
  ranges: readonly TranscriptRange[],
): Promise<TranscriptEntry[]> {
  const { rows } = await tx.execute<
    Omit<TranscriptEntry, 'created_at'> & { created_at: string } & Record<string, unknown>
  >(sql`
    select e.run_id, r.company_id, r.topic, r.admins_only, r.private_to_user_id, e.seq, e.kind, e.payload, e.created_at
    from jsonb_to_recordset(${JSON.stringify(ranges)}::jsonb) as r(run_id uuid, company_id uuid, topic text, admins_only boolean,
      private_to_user_id uuid, "from" int, "to" int)
    join heartbeat_runs h on h.id = r.run_id
    join run_events e on e.run_id = h.id and e.part = h.transcript_part and e.seq between r."from" and r."to"
    order by e.run_id, e.seq`);
  return rows.map((row) => ({ ...row, created_at: new Date(row.created_at) }));
}
