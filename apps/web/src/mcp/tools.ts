/** Tools: the endpoint table's, and those that other providers offer the company. */
import {
  describedInput,
  type EndpointTool,
  endpointTools,
  type McpToolset,
  type NamedThing,
  requireRole,
  toolAnswer,
} from '@acp/contract';
import {
  agentNamed,
  nameCalled,
  noteNamed,
  qualifiedName,
  resolveIssueRef,
  routineNamed,
  skillNamed,
  type Tool,
  ToolComing,
  type ToolRegistry,
} from '@acp/core';
import type { Tx } from '@acp/db';
import { decodeCursor, encodeCursor, invalid, isUuid, newId, notFound } from '@acp/kernel';
import { publicError } from '../http/errors.ts';
import { isObject, type Params } from '../json-rpc/messages.ts';
import { cursorParam, textParam } from './protocol.ts';
import type { McpCaller, ToolChoice } from './session.ts';

interface ListedTool {
  name: string;
  title?: string;
  description: string;
  inputSchema: unknown;
  outputSchema?: unknown;
  annotations: Record<string, boolean>;
}

const own: ReadonlyMap<string, EndpointTool> = new Map(endpointTools.map((tool) => [tool.name, tool]));
const PAGE = 200;
/** Clients refuse longer names. */
const LONGEST_NAME = 64;

const plain = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

/** Schemas as sent to clients: plain JSON, built once. */
const listed: ReadonlyMap<EndpointTool, ListedTool> = new Map(
  endpointTools.map((tool) => [tool, plain(describe(tool))]),
);

/** To look at something may be a change, too: it marks it as read. */
function onlyReads({ row }: EndpointTool): boolean {
  return row.method === 'GET' && row.tx === 'none';
}

function describe(tool: EndpointTool): ListedTool {
  const { name, title, row, input, output } = tool;
  const readOnlyHint = onlyReads(tool);
  return {
    name,
    title,
    description: row.doc,
    inputSchema: describedInput(input),
    ...(output && { outputSchema: output }),
    annotations: {
      readOnlyHint,
      destructiveHint: row.method === 'DELETE' || name.startsWith('force_'),
      idempotentHint: readOnlyHint || row.method !== 'POST',
      openWorldHint: false,
    },
  };
}

/** The tools that the caller may call, in pages. */
export async function listTools(caller: McpCaller, params: Params, outside: ToolRegistry) {
  const cursor = cursorParam(params);
  const [from] = cursor === undefined ? [0] : decodeCursor(cursor, ['integer']);
  const all = [
    ...endpointTools.filter((tool) => mayCall(tool, caller)).map((tool) => listed.get(tool)!),
    ...(isChosen(caller.choice, 'external', true) ? await listOutside(caller, outside) : []),
  ];
  const start = Math.max(0, Number(from));
  const tools = all.slice(start, start + PAGE);
  return { tools, ...(start + PAGE < all.length && { nextCursor: encodeCursor([start + PAGE]) }) };
}

async function listOutside(
  { tx, company_id, actor, choice }: McpCaller,
  outside: ToolRegistry,
): Promise<ListedTool[]> {
  const tools = await outside.outside(tx, company_id, actor);
  return tools
    .filter(
      (tool) =>
        isOpenTo(tool, actor) &&
        isChosen(choice, 'external', tool.read_only) &&
        qualifiedName(tool).length <= LONGEST_NAME,
    )
    .map(describeOutside);
}

const isChosen = ({ toolsets, read_only }: ToolChoice, toolset: McpToolset, reads: boolean): boolean =>
  (toolsets?.has(toolset) ?? true) && (reads || !read_only);

function describeOutside(tool: Tool): ListedTool {
  return {
    name: qualifiedName(tool),
    // Clients require one, and not every server describes its tools.
    description: tool.doc || `${tool.name}, a tool of ${tool.namespace}.`,
    inputSchema: { ...tool.input_schema, type: 'object' },
    annotations: { readOnlyHint: tool.read_only, openWorldHint: true },
  };
}

function mayCall(tool: EndpointTool, { actor, services, choice }: McpCaller): boolean {
  const { row } = tool;
  return (
    isChosen(choice, tool.toolset, onlyReads(tool)) &&
    row.auth.some((kind) => kind === actor.kind) &&
    isOpenTo(row, actor) &&
    !refuses(() => services.instance.requireFeature(row))
  );
}

const isOpenTo = (row: Parameters<typeof requireRole>[0], actor: McpCaller['actor']): boolean =>
  !refuses(() => requireRole(row, actor, actor.company_id));

function refuses(check: () => void): boolean {
  try {
    check();
    return false;
  } catch {
    return true;
  }
}

/** Returns the answer as JSON in one text block, and as structured content; marks a refusal as an error. */
export async function callTool(caller: McpCaller, params: Params, outside: ToolRegistry) {
  const name = textParam(params, 'name');
  const { arguments: given = {} } = params;
  try {
    if (!isObject(given)) throw invalid('arguments must be an object');
    const tool = own.get(name);
    const answer =
      tool === undefined
        ? await callOutside(caller, nameCalled(name), given, outside)
        : await callOwn(caller, tool, given);
    return {
      content: [{ type: 'text', text: JSON.stringify(answer) }],
      ...(isObject(answer) && { structuredContent: answer }),
    };
  } catch (error) {
    const known = publicError(error);
    if (known === null) throw error;
    const text = JSON.stringify({ error: known.message, ...known.extra });
    return { content: [{ type: 'text', text }], isError: true };
  }
}

async function callOutside(
  { tx, actor, company_id, services, choice }: McpCaller,
  name: string,
  given: Record<string, unknown>,
  outside: ToolRegistry,
): Promise<unknown> {
  const missing = notFound(`there is no tool ${JSON.stringify(name.slice(0, 200))}`);
  if (!isChosen(choice, 'external', true)) throw missing;
  try {
    // Permissions and input are checked here, before a scheduler is asked, and there again.
    const caller = { actor, company_id, call_id: newId() };
    const { call } = await outside.resolve(tx, caller, name, given);
    if (!isChosen(choice, 'external', call.tool.read_only)) throw missing;
  } catch (error) {
    // The scheduler waits for a tool that is starting and checks then; whether it only reads is not known yet.
    if (!(error instanceof ToolComing) || choice.read_only) throw error;
  }
  const { answer } = await services.command('call-tool', { name, input: given }, { actor, company_id });
  return answer;
}

async function callOwn(
  caller: McpCaller,
  tool: EndpointTool,
  given: Record<string, unknown>,
): Promise<object> {
  if (!mayCall(tool, caller)) {
    // If permissions are the reason, say so: the endpoint would too.
    requireRole(tool.row, caller.actor, caller.company_id);
    throw notFound(`there is no tool ${JSON.stringify(tool.name)}`);
  }
  const unknown = Object.keys(given).find((field) => !Object.hasOwn(tool.input.properties, field));
  if (unknown !== undefined) throw invalid(`unknown argument: ${unknown.slice(0, 100)}`);
  const { result, next_cursor } = await caller.act(tool.row, {
    params: { companyId: caller.company_id, ...(await pathOf(caller, tool, given)) },
    query: pick(given, tool.query),
    body: bodyOf(tool, given),
  });
  return toolAnswer(tool, result, next_cursor);
}

async function pathOf(caller: McpCaller, { path }: EndpointTool, given: Record<string, unknown>) {
  const params: Record<string, string> = {};
  for (const { param, argument, named } of path) {
    const value = given[argument];
    const text = typeof value === 'number' ? String(value) : value;
    if (typeof text !== 'string' || text === '') throw invalid(`argument ${argument} must be a string`);
    params[param] =
      named === null || isUuid(text) ? text : await idOfNamed[named](caller.tx, caller.company_id, text);
  }
  return params;
}

type FindId = (tx: Tx, company_id: string, word: string) => Promise<string>;

/** Searches the caller's company only. @throws notFound, conflict if the name is ambiguous */
export const idOfNamed: Readonly<Record<NamedThing, FindId>> = {
  issue: async (tx, company_id, word) => {
    const row = await resolveIssueRef(tx, company_id, word);
    if (row === undefined) throw notFound(`there is no issue ${JSON.stringify(word.slice(0, 100))}`);
    return row.id;
  },
  note: async (tx, company_id, word) => (await noteNamed(tx, company_id, word)).id,
  skill: async (tx, company_id, word) => (await skillNamed(tx, company_id, word)).id,
  routine: async (tx, company_id, word) => (await routineNamed(tx, company_id, word)).id,
  agent: async (tx, company_id, word) => (await agentNamed(tx, company_id, word)).id,
};

function bodyOf({ row, body }: EndpointTool, given: Record<string, unknown>): unknown {
  if (row.body === undefined) return undefined;
  if (body === null) return given.body;
  const fields = pick(given, body);
  return row.body_optional && Object.keys(fields).length === 0 ? undefined : fields;
}

function pick(given: Record<string, unknown>, names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(
    names.filter((name) => Object.hasOwn(given, name)).map((name) => [name, given[name]]),
  );
}
