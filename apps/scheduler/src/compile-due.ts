import { compileNextDue, sweepCompiles } from '@acp/core';
import { transaction } from '@acp/db';
import type { TimerContext } from './context.ts';

/** Starts due compilations, one company per transaction, and resumes those that were held up. */
export async function compileDue({ database }: TimerContext, signal: AbortSignal): Promise<void> {
  await transaction(database, async (tx) => sweepCompiles(tx));
  let more = true;
  while (more && !signal.aborted) more = await transaction(database, async (tx) => compileNextDue(tx));
}
