import type { mcpEndpoints } from '@acp/contract';
import { notFound } from '@acp/kernel';
import { act } from '../http/act.ts';
import type { CallDeps } from '../http/call.ts';
import type { Context } from '../http/handle.ts';
import type { MountedRow } from '../http/mounted-row.ts';
import type { RefusalDeps } from '../http/refusals.ts';
import type { McpCaller } from './session.ts';

/** @param rows available endpoints, by id */
export function callerOf(
  { actor, company_id, tx, services, request, response }: Context<typeof mcpEndpoints.call>,
  rows: ReadonlyMap<string, MountedRow>,
  deps: CallDeps & RefusalDeps,
): McpCaller {
  if (!('company_id' in actor)) throw notFound();
  return {
    actor,
    company_id,
    tx,
    services,
    async act(row, { params = {}, query = {}, body }) {
      const mounted = rows.get(row.id);
      if (mounted === undefined) throw notFound();
      return act(mounted, { actor, params, query: { ...query }, body }, { request, response }, deps);
    },
  };
}
