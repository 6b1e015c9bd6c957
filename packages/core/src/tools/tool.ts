import type { Actor, ToolInput, ToolName } from '@acp/contract';
import type { Tx } from '@acp/db';

/** Who calls a tool, and in which company. */
export interface ToolCaller {
  tx: Tx;
  actor: Actor;
  company_id: string;
}

/** What is behind each row of the tool table. The answer becomes JSON. */
export type Tools = { [N in ToolName]: (caller: ToolCaller, input: ToolInput<N>) => Promise<unknown> };
