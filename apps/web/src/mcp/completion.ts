/** Completion of arguments: those of prompts and of resource templates. */
import {
  agentEndpoints,
  documentEndpoints,
  issueEndpoints,
  noteEndpoints,
  skillEndpoints,
} from '@acp/contract';
import { ServiceError } from '@acp/kernel';
import { promptArguments } from './prompts.ts';
import { INVALID_PARAMS, invalidParams, isObject, type Params, RpcError } from '../json-rpc/messages.ts';
import { idOf, templates } from './resources.ts';
import type { McpCaller } from './session.ts';

/** The protocol's limit for one answer. */
const MOST = 100;
/** What has the typed text may not begin with it. */
const MOST_READ = 200;

type Completer = (caller: McpCaller, typed: string, known: Record<string, unknown>) => Promise<string[]>;

const company = ({ company_id }: McpCaller) => ({ companyId: company_id });
const search = (typed: string, limit = MOST) => ({ limit, ...(typed !== '' && { q: typed }) });
const startsWith = (values: readonly string[], typed: string): string[] =>
  values.filter((value) => value.toLowerCase().startsWith(typed.toLowerCase()));

const completers: Readonly<Record<string, Completer>> = {
  issue: async (caller, typed) => {
    const { result } = await caller.act(issueEndpoints.list, {
      params: company(caller),
      query: search(typed),
    });
    return (result as { identifier: string | null; id: string }[]).map(
      ({ identifier, id }) => identifier ?? id,
    );
  },
  note: async (caller, typed) => {
    const { result } = await caller.act(noteEndpoints.list, {
      params: company(caller),
      query: search(typed),
    });
    return (result as { title: string }[]).map(({ title }) => title);
  },
  skill: async (caller, typed) => {
    const { result } = await caller.act(skillEndpoints.list, {
      params: company(caller),
      query: search(typed, MOST_READ),
    });
    return startsWith(
      (result as { slug: string }[]).map(({ slug }) => slug),
      typed,
    );
  },
  agent: async (caller, typed) => {
    const { result } = await caller.act(agentEndpoints.list, { query: search(typed, MOST_READ) });
    return startsWith(
      (result as { agents: { name: string }[] }).agents.map(({ name }) => name),
      typed,
    );
  },
  /** Document keys of the previously chosen issue. */
  key: async (caller, typed, { issue }) => {
    if (typeof issue !== 'string') return [];
    const params = { issueId: await idOf(caller, 'issue', issue) };
    const { result } = await caller.act(documentEndpoints.list, { params, query: { limit: MOST_READ } });
    return startsWith(
      (result as { key: string }[]).map(({ key }) => key),
      typed,
    );
  },
};

/** @throws RpcError for an unknown prompt, template or argument */
export async function complete(caller: McpCaller, { ref, argument, context }: Params) {
  if (!isObject(ref) || !isObject(argument)) throw invalidParams('ref and argument must be objects');
  const { name, value } = argument;
  if (typeof name !== 'string' || typeof value !== 'string')
    throw invalidParams('argument must have name and value');
  if (!argumentsOf(ref).includes(name)) throw new RpcError(INVALID_PARAMS, 'there is no such argument');
  const known = isObject(context) && isObject(context.arguments) ? context.arguments : {};
  const completer = Object.hasOwn(completers, name) ? completers[name] : undefined;
  const found = completer === undefined ? [] : await quietly(completer(caller, value.slice(0, 200), known));
  const values = [...new Set(found)].slice(0, MOST);
  return { completion: { values, total: found.length, hasMore: found.length > values.length } };
}

function argumentsOf({ type, uri, name }: Record<string, unknown>): string[] {
  if (type === 'ref/prompt' && typeof name === 'string')
    return promptArguments.map((argument) => argument.name);
  const template = templates.find(({ uriTemplate }) => type === 'ref/resource' && uriTemplate === uri);
  if (template === undefined) throw invalidParams('ref names neither a prompt nor a resource template');
  return [...template.uriTemplate.matchAll(/\{(\w+)\}/g)].map((match) => match[1]!);
}

/** An incomplete word refers to nothing yet, which is not an error. */
async function quietly(work: Promise<string[]>): Promise<string[]> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof ServiceError && ['not_found', 'conflict'].includes(error.kind)) return [];
    throw error;
  }
}
