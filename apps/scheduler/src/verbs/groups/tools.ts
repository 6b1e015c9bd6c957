import { toolByName } from '@acp/contract';
import { callTool } from '@acp/core';
import { invalid } from '@acp/kernel';
import { quoted } from '../../execution/untrusted.ts';
import type { VerbContext, VerbGroup, VerbOutcome } from '../verb.ts';

/** In characters of JSON. */
const SHOWN = 30_000;

async function apply({ tx, run, action }: VerbContext): Promise<VerbOutcome> {
  const name = action.args.positional[0] ?? '';
  const answer = await callTool(
    { tx, actor: run.actor, company_id: run.company_id },
    name,
    inputOf(action.rest),
  );
  return {
    text: quoted('result', JSON.stringify(answer ?? null), SHOWN, { tool: name }),
    changed: toolByName.get(name)?.read_only === false,
  };
}

/** Without any JSON a tool is called with nothing. */
function inputOf(rest: string): unknown {
  if (rest === '') return {};
  try {
    return JSON.parse(rest) as unknown;
  } catch {
    throw invalid('what follows the tool is no JSON: it must stand on the same line');
  }
}

export const tools: VerbGroup = { 'mcp:': { apply } };
