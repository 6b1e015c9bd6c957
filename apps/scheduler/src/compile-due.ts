import { compileNextDue, sweepCompiles } from '@acp/core';
import { transaction } from '@acp/db';
import type { TimerContext } from './context.ts';

/** Begins the compilations whose time has come, a company a transaction, and moves on those that were held up. */
export async function compileDue({ database }: TimerContext, signal: AbortSignal): Promise<void> {
  await transaction(database, async (tx) => sweepCompiles(tx));
  let more = true;
  while (more && !signal.aborted) more = await transaction(database, async (tx) => compileNextDue(tx));
}
