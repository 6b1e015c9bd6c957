import type { Tx } from '@acp/db';
import { createValidator, type ToolName, toolTable } from '@acp/contract';
import { knowledgeTools } from './knowledge-tools.ts';
import { peopleTools } from './people-tools.ts';
import type { Tool, ToolCall, ToolProvider } from './provider.ts';
import type { ToolCaller, Tools } from './tool.ts';
import { workTools } from './work-tools.ts';

const commands: Tools = { ...workTools, ...knowledgeTools, ...peopleTools };

/** Available in every company. */
export const builtInToolList: readonly Tool[] = toolTable.map(({ input, ...row }) => ({
  ...row,
  namespace: '',
  input_schema: { ...input },
  validate: createValidator(input, 'input'),
}));

async function commit(tx: Tx, { actor, company_id, tool, input }: ToolCall): Promise<unknown> {
  // Table and record correspond by name; the record's type guarantees that each command accepts its row's input.
  const command = commands[tool.name as ToolName] as (caller: ToolCaller, input: unknown) => Promise<unknown>;
  return command({ tx, actor, company_id }, input);
}

/** The API's commands: a call runs entirely in the transaction that records it. */
export const builtInTools: ToolProvider = {
  name: 'built-in',
  list: async () => Promise.resolve(builtInToolList),
  commit,
};
