import { createValidator, requireRole, toolByName, toolTable, type ToolName } from '@acp/contract';
import { notFound } from '@acp/kernel';
import { knowledgeTools } from './knowledge-tools.ts';
import { peopleTools } from './people-tools.ts';
import type { ToolCaller, Tools } from './tool.ts';
import { workTools } from './work-tools.ts';

const tools: Tools = { ...workTools, ...knowledgeTools, ...peopleTools };
const validators = new Map(toolTable.map(({ name, input }) => [name, createValidator(input, 'input')]));

/**
 * Calls a tool of the company with the rights of the caller, who is known to be one of the company's.
 * @param input JSON, as it came
 * @throws notFound for an unknown tool, invalid for another input, forbidden, and what the command behind it refuses
 */
export async function callTool(caller: ToolCaller, name: string, input: unknown): Promise<unknown> {
  const row = toolByName.get(name);
  if (row === undefined) throw notFound(`there is no tool ${JSON.stringify(name.slice(0, 100))}`);
  requireRole(row, caller.actor, caller.company_id);
  const checked = validators.get(row.name as ToolName)!(input);
  // The table and the record agree by name; that each takes what its row says is the type of the record.
  return (tools[row.name as ToolName] as (caller: ToolCaller, input: unknown) => Promise<unknown>)(
    caller,
    checked,
  );
}
