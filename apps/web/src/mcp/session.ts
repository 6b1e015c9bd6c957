import type { Actor, EndpointRow } from '@acp/contract';
import type { Acted } from '../http/act.ts';
import type { Query } from '../http/input.ts';
import type { Services } from '../http/services.ts';
import type { Tx } from '@acp/db';

/** The caller, its company, and the only way to do anything: the API's endpoints. */
export interface McpCaller {
  readonly actor: Actor & { company_id: string };
  readonly company_id: string;
  readonly tx: Tx;
  readonly services: Services;
  act(row: EndpointRow, given: ActInput): Promise<Acted>;
}

interface ActInput {
  params?: Readonly<Record<string, string>>;
  query?: Query;
  body?: unknown;
}
