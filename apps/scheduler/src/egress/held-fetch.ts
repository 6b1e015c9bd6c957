/** What goes out for a company, held to its list of hosts. */
import type { EgressDoor } from '@acp/contract';
import { recordRefusals } from '@acp/core';
import type { Database } from '@acp/db';
import { type GuardedFetch, NotListedError } from '@acp/kernel';
import { countRefusals } from './egress-metrics.ts';
import { listOf } from './known-lists.ts';

/** For whom it goes out, and what asks. */
export interface Sender {
  company_id: string;
  door: EgressDoor;
  /** Where a run asks. */
  run_id?: string | null;
}

/**
 * A `fetch` that reaches what the given one does, as far as the company's list goes, which is looked at for each request: a
 * change holds at once. What it refuses is counted.
 */
export function heldFetch(database: Database, sender: Sender, send: GuardedFetch): typeof fetch {
  return async (input, init) => {
    const list = await listOf(database, sender.company_id);
    try {
      return await send.within(list)(input, init);
    } catch (error) {
      if (error instanceof NotListedError) await noteRefusal(database, sender, error.place);
      throw error;
    }
  };
}

export async function noteRefusal(
  database: Database,
  { company_id, door, run_id = null }: Sender,
  place: { host: string; port: number; times?: number },
): Promise<void> {
  const refusal = { times: 1, ...place, door };
  countRefusals(door, refusal.times);
  await recordRefusals(database.db, { company_id, run_id }, [refusal]);
}
