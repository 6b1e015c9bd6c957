import type { Tx } from '@acp/db';
import { createValidator, type ToolName, toolTable } from '@acp/contract';
import { knowledgeTools } from './knowledge-tools.ts';
import { peopleTools } from './people-tools.ts';
import type { Tool, ToolCall, ToolProvider } from './provider.ts';
import type { ToolCaller, Tools } from './tool.ts';
import { workTools } from './work-tools.ts';

const commands: Tools = { ...workTools, ...knowledgeTools, ...peopleTools };

/** Of every company. */
export const builtInToolList: readonly Tool[] = toolTable.map(({ input, ...row }) => ({
  ...row,
  namespace: '',
  input_schema: { ...input },
  validate: createValidator(input, 'input'),
}));

async function commit(tx: Tx, { actor, company_id, tool, input }: ToolCall): Promise<unknown> {
  // The table and the record agree by name; that each takes what its row says is the type of the record.
  const command = commands[tool.name as ToolName] as (caller: ToolCaller, input: unknown) => Promise<unknown>;
  return command({ tx, actor, company_id }, input);
}

/** The commands of the API: all of a call is in the transaction that records it. */
export const builtInTools: ToolProvider = {
  name: 'built-in',
  list: async () => Promise.resolve(builtInToolList),
  commit,
};
