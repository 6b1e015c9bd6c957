import { setTimeout as delay } from 'node:timers/promises';
import { ToolComing, type ToolRegistry } from '@acp/core';
import type { Tx } from '@acp/db';

/** A plugin is taken over within 30 s of its scheduler's death, and must then start. */
const LONGEST_WAIT_MS = 45_000;
const LOOK_MS = 500;

type Resolved = ReturnType<ToolRegistry['resolve']>;

/**
 * Resolves and checks the call; waits while a plugin that may have the tool is moving between two schedulers.
 * @param signal stops the waiting
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
    // The notification that the plugin runs may have preceded a listing cached for another call.
    tools.forget([caller.company_id]);
  }
}
