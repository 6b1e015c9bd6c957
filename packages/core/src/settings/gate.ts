import type { FlagName } from '@acp/contract';
import type { Tx } from '@acp/db';
import { sql } from 'drizzle-orm';
import { disabledIn, flagOverrides } from './flags.ts';
import { endOf, entitlement } from './license.ts';
import { runsPausedHere } from './settings.ts';

export interface InstanceGate {
  /** Features that are disabled. */
  disabled: FlagName[];
  read_only: boolean;
  /** The emergency stop. */
  runs_paused: boolean;
  /** When the instance becomes read-only; null: never. */
  expires_at: Date | null;
}

/** What decides whether the instance answers a request at all. Every process reads it every few seconds: in one statement. */
export async function readGate(tx: Tx): Promise<InstanceGate> {
  const { rows } = await tx.execute<{
    flags: Record<string, unknown> | null;
    until: string | null;
    read_only: boolean;
    runs_paused: boolean;
  }>(sql`select (${flagOverrides}) as flags, ${entitlement}, ${runsPausedHere} as runs_paused`);
  const { flags, until, read_only, runs_paused } = rows[0]!;
  return { disabled: disabledIn(flags ?? {}), read_only, runs_paused, expires_at: endOf(until) };
}
