import type { ToolCall, ToolProvider } from '@acp/core';
import { invalid } from '@acp/kernel';
import { quoted } from '@acp/adapters';
import { resolveInTime } from '../../tools/resolve-in-time.ts';
import type { Commit, PrepareContext, VerbGroup } from '../verb.ts';

/** In characters of JSON. */
const SHOWN = 30_000;
const TIMEOUT_MS = 60_000;

async function prepare(context: PrepareContext): Promise<Commit> {
  const { database, run, action, tools, call_id } = context;
  const caller = { company_id: run.company_id, actor: run.actor, call_id };
  const name = action.args.positional[0] ?? '';
  const asked = [caller, name, inputOf(action.rest || action.body || '')] satisfies [object, string, unknown];
  const { call, provider } = await context.within(TIMEOUT_MS, async (signal) =>
    resolveInTime(tools, database.db, asked, signal),
  );
  const answer = await talk(context, provider, call);
  return async ({ tx }) => {
    const result = provider.commit === undefined ? answer : await provider.commit(tx, call, answer);
    return {
      text: quoted('result', JSON.stringify(result ?? null), SHOWN, { tool: name }),
      changed: !call.tool.read_only,
    };
  };
}

/** Undefined if the whole call takes place in the transaction. */
async function talk(context: PrepareContext, provider: ToolProvider, call: ToolCall): Promise<unknown> {
  if (provider.prepare === undefined) return undefined;
  if (!call.tool.read_only) await context.begin();
  const { timeout_ms = TIMEOUT_MS } = provider;
  return context.within(timeout_ms, async (signal) => provider.prepare?.(call, signal));
}

/** Without JSON, a tool is called with an empty object. */
function inputOf(rest: string): unknown {
  if (rest === '') return {};
  try {
    return JSON.parse(rest) as unknown;
  } catch {
    throw invalid(
      'what follows the tool is not JSON: it must be on the same line, or in a fenced block below',
    );
  }
}

export const tools: VerbGroup = { 'mcp:': { prepare } };
