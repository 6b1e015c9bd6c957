import { setTimeout as delay } from 'node:timers/promises';
import { ToolComing, type ToolRegistry } from '@acp/core';
import type { Tx } from '@acp/db';

/** A plugin is taken over within 30 s of the death of its scheduler, and then starts. */
const LONGEST_WAIT_MS = 45_000;
const LOOK_MS = 500;

type Resolved = ReturnType<ToolRegistry['resolve']>;

/**
 * The call, checked; while a plugin that may have the tool is between two schedulers it is waited for.
 * @param signal gives the wait up
 * @throws what `resolve` throws
 */
export async function resolveInTime(
  tools: ToolRegistry,
  tx: Tx,
  [caller, name, input]: [Parameters<ToolRegistry['resolve']>[1], string, unknown],
  signal: AbortSignal,
): Resolved {
  const until = performance.now() + LONGEST_WAIT_MS;
  for (;;) {
    try {
      return await tools.resolve(tx, caller, name, input);
    } catch (error) {
      if (!(error instanceof ToolComing) || signal.aborted || performance.now() > until) throw error;
    }
    await delay(LOOK_MS, undefined, { signal }).catch(() => undefined);
    // Word that the plugin runs may have come before what was listed for another.
    tools.forget([caller.company_id]);
  }
}
