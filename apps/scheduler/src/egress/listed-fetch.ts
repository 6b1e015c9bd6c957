/** Outgoing requests of a company, restricted to its host list. */
import type { EgressDoor } from '@acp/contract';
import { recordRefusals } from '@acp/core';
import type { Database } from '@acp/db';
import { type GuardedFetch, NotListedError } from '@acp/kernel';
import { countRefusals } from './egress-metrics.ts';
import { listOf } from './known-lists.ts';

/** The company that a request is made for, and what makes it. */
export interface Sender {
  company_id: string;
  door: EgressDoor;
  /** The run that makes the request, if any. */
  run_id?: string | null;
}

/**
 * Restricts the given `fetch` to the company's host list, which is checked for each request: a change takes effect
 * immediately. Refused requests are counted.
 */
export function listedFetch(database: Database, sender: Sender, send: GuardedFetch): typeof fetch {
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
