import { mcpEndpoints, mcpToolsetNames } from '@acp/contract';
import { invalid, notFound } from '@acp/kernel';
import { act } from '../http/act.ts';
import { authenticate, needsFreshCaller } from '../http/auth.ts';
import type { CallDeps } from '../http/call.ts';
import type { Context } from '../http/handle.ts';
import type { MountedRow } from '../http/mounted-row.ts';
import { placeOf, type RefusalDeps } from '../http/refusals.ts';
import type { McpCaller, ToolChoice } from './session.ts';

type McpContext = Context<typeof mcpEndpoints.call>;

/** @param rows available endpoints, by id. @throws invalid for an unknown toolset */
export function callerOf(
  { actor, company_id, tx, services, query: wanted, request, response }: McpContext,
  rows: ReadonlyMap<string, MountedRow>,
  deps: CallDeps & RefusalDeps,
): McpCaller {
  if (!('company_id' in actor)) throw notFound();
  // The endpoint's own row asks for no fresh caller: what is done through it may.
  const fresh = async () =>
    authenticate(deps.credentials, request, mcpEndpoints.call, {
      place: () => placeOf(request, deps),
      query_token: undefined,
      fresh: true,
    });
  return {
    actor,
    company_id,
    tx,
    services,
    choice: choiceOf(wanted),
    async act(row, { params = {}, query = {}, body }) {
      const mounted = rows.get(row.id);
      if (mounted === undefined) throw notFound();
      const caller = needsFreshCaller(row) ? await fresh() : actor;
      return act(mounted, { actor: caller, params, query: { ...query }, body }, { request, response }, deps);
    },
  };
}

function choiceOf({ toolsets, read_only = false }: McpContext['query']): ToolChoice {
  const names = toolsets?.split(',').map((name) => name.trim()) ?? [];
  const unknown = names.find((name) => !mcpToolsetNames.includes(name));
  if (unknown !== undefined)
    throw invalid(`there is no toolset ${JSON.stringify(unknown)}, only ${mcpToolsetNames.join(', ')}`);
  return { toolsets: names.length === 0 ? null : new Set(names), read_only };
}
