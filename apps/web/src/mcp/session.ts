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
  /** The tools that the client wants, of those that the caller may use. */
  readonly choice: ToolChoice;
  act(row: EndpointRow, given: ActInput): Promise<Acted>;
}

export interface ToolChoice {
  /** Null: all. */
  readonly toolsets: ReadonlySet<string> | null;
  readonly read_only: boolean;
}

interface ActInput {
  params?: Readonly<Record<string, string>>;
  query?: Query;
  body?: unknown;
}
