import type { Actor, ToolInput, ToolName } from '@acp/contract';
import type { Tx } from '@acp/db';

/** The caller of a tool, and the company. */
export interface ToolCaller {
  tx: Tx;
  actor: Actor;
  company_id: string;
}

/** The implementations of the tool table's rows. Results are serialised as JSON. */
export type Tools = { [N in ToolName]: (caller: ToolCaller, input: ToolInput<N>) => Promise<unknown> };
