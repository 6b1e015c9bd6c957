/** Executes an endpoint for a caller of another protocol: from the scope on, the pipeline is the same. */
import type { Actor } from '@acp/contract';
import { notFound } from '@acp/kernel';
import type { Request, Response } from 'express';
import { Call, type CallDeps } from './call.ts';
import { enterScope } from './enter-scope.ts';
import { bodyOf, type Query, readParams, readQuery } from './input.ts';
import type { MountedRow } from './mounted-row.ts';
import { perform } from './perform.ts';
import { noteRefusal, type RefusalDeps } from './refusals.ts';

export interface Act {
  actor: Actor;
  /** By name, decoded. */
  params: Readonly<Record<string, string>>;
  query: Query;
  /** JSON checked by `checkJson`; undefined if there is no body. */
  body: unknown;
}

export interface Acted {
  /** The endpoint's answer; undefined for an answer without a body. */
  result: unknown;
  next_cursor: string | null;
}

/** The request in the other protocol: its `Idempotency-Key` counts, its response is left alone. */
interface OuterRequest {
  request: Request;
  response: Response;
}

export async function act(
  mounted: MountedRow,
  { actor, params, query, body }: Act,
  { request, response }: OuterRequest,
  deps: CallDeps & RefusalDeps,
): Promise<Acted> {
  const { row } = mounted;
  deps.services.instance.requireFeature(row);
  if (row.auth.length > 0 && !row.auth.some((kind) => kind === actor.kind)) throw notFound();
  const call = new Call(mounted, deps, request, response);
  call.actor = actor;
  try {
    call.params = readParams(
      mounted,
      mounted.params.map(({ name }) => encodeURIComponent(params[name] ?? '')),
    );
    await enterScope(call, deps);
    call.query = readQuery(mounted, query);
    call.body = bodyOf(mounted, body);
    const { text } = await perform(deps.database, call, async () => enterScope(call, deps));
    return { result: text === undefined ? undefined : JSON.parse(text), next_cursor: call.next_cursor };
  } catch (error) {
    noteRefusal(error, call, deps);
    throw error;
  }
}
