/** Shared by the sections about runs: the tiers' settings, and runs from trigger to finish. */
import { setTimeout as delay } from 'node:timers/promises';
import { waitFor } from '@acp/testkit';
import type { ForkedFakeModel, StatementCounter, TestDatabase } from '@acp/testkit';
import type { Scene } from './scene.ts';
import { temporaryFolder } from './service.ts';

/** Number of runs a scheduler executes concurrently. */
export const POOL_SIZE = 32;

export const tiers = (url: string, model: ForkedFakeModel) => ({
  DATABASE_URL: url,
  SERVICE_HOME: temporaryFolder(),
  SERVICE_DEFAULT_LLM_PROVIDER: 'family_compat',
  SERVICE_DEFAULT_LLM_BASE_URL: model.url,
  SERVICE_DEFAULT_LLM_MODEL: 'fake-model',
  WORKER_POOL_SIZE: String(POOL_SIZE),
});

/** Resolves after half a second with nothing but the ticks of an idle pair. */
export async function quiet(counter: StatementCounter): Promise<void> {
  let last = -10;
  await waitFor(
    async () => {
      await delay(500);
      const now = counter.total();
      const grown = now - last;
      last = now;
      return grown <= 2;
    },
    { what: 'the end of what was under way', timeout_ms: 60_000 },
  );
}

export async function trigger(url: string, { board_key: key }: Scene, issueId: string): Promise<void> {
  const response = await fetch(`${url}/api/issues/${issueId}/trigger-agent`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
  });
  if (response.status !== 201)
    throw new Error(`trigger-agent answered ${response.status}: ${await response.text()}`);
  await response.text();
}

export async function finishedRuns({ database }: TestDatabase): Promise<number> {
  const { rows } = await database.pool.query<{ count: number }>(
    'select count(*)::int as count from heartbeat_runs where finished_at is not null',
  );
  return rows[0]?.count ?? 0;
}
