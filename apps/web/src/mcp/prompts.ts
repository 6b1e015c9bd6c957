/** Prompts: the company's skills, and the instructions of each agent role. */
import { agentEndpoints, agentRoles, issueEndpoints, skillEndpoints, type Skill } from '@acp/contract';
import { decodeCursor, encodeCursor, invalid, notFound } from '@acp/kernel';
import { invalidParams, isObject, type Params } from '../json-rpc/messages.ts';
import { cursorParam, textParam } from './protocol.ts';
import { idOf } from './resources.ts';
import type { McpCaller } from './session.ts';

const SKILL = 'skill:';
const ROLE = 'role:';
const PAGE = 100;
const LONGEST_TASK = 100_000;

/** Both are optional, and accepted by every prompt. */
export const promptArguments = [
  { name: 'issue', description: 'Identifier (ABC-12) or id of the issue that it is about', required: false },
  { name: 'task', description: 'What is to be done, in your own words', required: false },
];

const rolePrompts = agentRoles.map((role) => ({
  name: ROLE + role,
  title: `Work as ${role}`,
  description: `What an agent of the role ${role} is told by default`,
  arguments: promptArguments,
}));

/** The first page starts with the roles; all pages list skills. */
export async function listPrompts(caller: McpCaller, params: Params) {
  const given = cursorParam(params);
  const [cursor] = given === undefined ? [null] : decodeCursor(given, ['text']);
  const { result, next_cursor } = await caller.act(skillEndpoints.list, {
    params: { companyId: caller.company_id },
    query: { limit: PAGE, ...(cursor !== null && { cursor }) },
  });
  const skills = (result as Skill[])
    .filter(({ enabled }) => enabled)
    .map(({ slug, name, description }) => ({
      name: SKILL + slug,
      title: name,
      description,
      arguments: promptArguments,
    }));
  return {
    prompts: given === undefined ? [...rolePrompts, ...skills] : skills,
    ...(next_cursor !== null && { nextCursor: encodeCursor([next_cursor]) }),
  };
}

/** @throws RpcError for an unknown prompt or invalid arguments */
export async function getPrompt(caller: McpCaller, params: Params) {
  const name = textParam(params, 'name');
  const { issue, task } = readArguments(params.arguments);
  const { description, text } = await promptText(caller, name);
  const about = issue === undefined ? [] : [await aboutIssue(caller, issue)];
  const parts = [text, ...about, ...(task === undefined ? [] : [`# Task\n\n${task}`])];
  return {
    description,
    messages: [{ role: 'user', content: { type: 'text', text: parts.join('\n\n') } }],
  };
}

async function promptText(caller: McpCaller, name: string): Promise<{ description: string; text: string }> {
  if (name.startsWith(ROLE)) {
    const role = agentRoles.find((each) => each === name.slice(ROLE.length));
    if (role !== undefined) {
      const { result } = await caller.act(agentEndpoints.defaultPrompt, { params: { role } });
      return { description: `Work as ${role}`, text: (result as { prompt: string }).prompt };
    }
  } else if (name.startsWith(SKILL)) {
    const skillId = await idOf(caller, 'skill', name.slice(SKILL.length));
    const { result } = await caller.act(skillEndpoints.get, { params: { skillId } });
    const { enabled, description, body_markdown } = result as Skill;
    if (enabled) return { description, text: body_markdown };
  }
  throw notFound(`there is no prompt ${JSON.stringify(name.slice(0, 100))}`);
}

async function aboutIssue(caller: McpCaller, reference: string): Promise<string> {
  const issueId = await idOf(caller, 'issue', reference);
  const { result } = await caller.act(issueEndpoints.get, { params: { issueId } });
  const { identifier, title, status, priority, body_markdown } = result as Record<string, unknown>;
  return `# Issue ${String(identifier)}: ${String(title)}\n\nStatus ${String(status)}, priority ${String(priority)}.\n\n${typeof body_markdown === 'string' ? body_markdown : ''}`;
}

function readArguments(given: unknown = {}): { issue?: string; task?: string } {
  if (!isObject(given)) throw invalidParams('arguments must be an object');
  const read: Record<string, string> = {};
  for (const [name, value] of Object.entries(given)) {
    if (!promptArguments.some((argument) => argument.name === name))
      throw invalidParams(`unknown argument: ${name.slice(0, 100)}`);
    if (typeof value !== 'string') throw invalidParams(`argument ${name} must be a string`);
    if (value.length > LONGEST_TASK) throw invalid(`argument ${name} is too long`);
    if (value !== '') read[name] = value;
  }
  return read;
}
