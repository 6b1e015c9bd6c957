import { expect } from '@jest/globals';
import { type ToolProvider, ToolRegistry } from '@acp/core';
import type { Database } from '@acp/db';
import { Scrubber } from '@acp/kernel';
import { LocalStorage, type Storage } from '@acp/storage';
import { createRunningRun, testLogger } from '@acp/testkit';
import { HeldRun } from '../../apps/scheduler/src/execution/held-run.ts';
import { type AppliedAction, applyAction } from '../../apps/scheduler/src/verbs/apply.ts';
import { parse } from '../../apps/scheduler/src/verbs/parse.ts';
import type { WorkspaceFiles } from '../../apps/scheduler/src/verbs/verb.ts';

export type Scene = Awaited<ReturnType<typeof createScene>>;

/** Used only by verbs that write files. */
const nowhere = new LocalStorage('/nonexistent');

/** A run of Ada on her issue (`createRunningRun`), and a function that applies its verbs, one text each. */
export async function createScene(
  database: Database,
  options: Parameters<typeof createRunningRun>[1] = {},
  storage: Storage = nowhere,
  providers: readonly ToolProvider[] = [],
) {
  const set = await createRunningRun(database.db, options);
  const { run } = set;
  const held = new HeldRun(run, 30, performance.now());
  const tools = new ToolRegistry(providers, testLogger());
  let ordinal = 1;
  const apply = async (text: string, workspace: WorkspaceFiles | null = null): Promise<AppliedAction> => {
    const [action] = parse(text, ordinal).actions;
    ordinal += 1;
    const parts = { run, held, scrubber: new Scrubber(), applies: () => true };
    return applyAction({ database, logger: testLogger(), storage, tools, workspace, ...parts }, action!);
  };
  return { ...set, held, apply };
}

export const ok = (text: unknown, changed = true): unknown =>
  expect.objectContaining({ ok: true, result: text, error: null, changed });
export const refused = (error: unknown): unknown =>
  expect.objectContaining({ ok: false, result: null, error, changed: false });

/** A verb's line with its body. */
export const fenced = (line: string, body: string): string => `${line}\n\`\`\`\n${body}\n\`\`\``;

export async function rowsOf(
  database: Database,
  query: string,
  ...values: unknown[]
): Promise<Record<string, unknown>[]> {
  return (await database.pool.query<Record<string, unknown>>(query, values)).rows;
}
