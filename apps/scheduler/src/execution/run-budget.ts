import { setTimeout as delay } from 'node:timers/promises';
import { callLimit } from '@acp/adapters';
import type { AdapterTask } from '@acp/adapters';
import { BUDGET_CATEGORY, BUDGET_EXCEEDED, priceOf, reportSpending, reserveCall } from '@acp/core';
import type { ClaimedRun, Prices } from '@acp/core';
import { transaction } from '@acp/db';
import type { Database } from '@acp/db';
import type { Logger } from '@acp/kernel';
import { RunStopped } from './held-run.ts';
import type { HeldRun } from './held-run.ts';
import { retryTransient } from './retry-transient.ts';
import { MAX_OUTPUT_TOKENS } from './provider.ts';
import { RunFailure } from './run-failure.ts';
import { totalUsage } from './usage.ts';
import type { TurnUsage } from './usage.ts';

interface RunBudgetSettings {
  database: Database;
  logger: Logger;
  run: ClaimedRun;
  held: HeldRun;
  prices: Prices;
  model: string;
  /** Whether the adapter's calls can be priced in advance; otherwise the cost of the agent's usual run is reserved. */
  metered: boolean;
}

/** Other calls have reserved what is left, and one may release some. Any longer, and the slot is needed elsewhere. */
const PATIENCE_MS = 60_000;
const PAUSE_MS = 500;

/**
 * Reserves budget for the run's next model call (decisions 8.4). The first call of a run whose company had no budget at
 * the claim takes no statement. Throws RunFailure `budget` if there is no money left, and RunStopped.
 */
export async function reserveTurn(
  settings: RunBudgetSettings,
  turn: Pick<AdapterTask, 'system_prompt' | 'messages'>,
  usage: readonly TurnUsage[],
): Promise<void> {
  const { run, held, database, logger, prices } = settings;
  if (usage.length === 0 && !run.budgeted) return;
  const call = {
    run_id: run.run_id,
    company_id: run.company_id,
    fence: run.fence,
    estimate_usd: settings.metered ? maxCost(settings, turn) : null,
    spent_usd: totalUsage('', usage, prices)?.cost_usd ?? '0',
  };
  const until = performance.now() + PATIENCE_MS;
  for (;;) {
    held.assertHeld();
    // A retry does not reserve twice: the run's earlier reservation is released first.
    const { outcome, due } = await retryTransient(held, logger, async () => reserveCall(database.db, call));
    if (due) {
      await retryTransient(held, logger, async () =>
        transaction(database, async (tx) => reportSpending(tx, run.run_id)),
      );
    }
    if (outcome === 'granted') return;
    if (outcome === 'lost') {
      held.stop('lost');
      throw new RunStopped('lost');
    }
    if (outcome === 'exceeded' || performance.now() > until) {
      throw new RunFailure(BUDGET_CATEGORY, BUDGET_EXCEEDED);
    }
    await delay(PAUSE_MS * (0.5 + Math.random()), undefined, { signal: held.signal }).catch(() => undefined);
  }
}

/** The cost of the turn if the model reads and writes the maximum; the adapter reports no more than that. */
function maxCost(
  { prices, model }: RunBudgetSettings,
  turn: Pick<AdapterTask, 'system_prompt' | 'messages'>,
): string {
  const most = callLimit({ ...turn, max_output_tokens: MAX_OUTPUT_TOKENS });
  return priceOf(prices, model, { ...most, cached_tokens: 0 });
}
