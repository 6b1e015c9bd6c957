/** Maps methods to their implementations, by era. */
import type { ToolRegistry } from '@acp/core';
import { serviceVersion } from '@acp/kernel';
import { complete } from './completion.ts';
import type { Era } from './era.ts';
import { getPrompt, listPrompts } from './prompts.ts';
import {
  invalidParams,
  METHOD_NOT_FOUND,
  type Params,
  RpcError,
  type RpcRequest,
} from '../json-rpc/messages.ts';
import { cursorParam, SESSION_VERSIONS, textParam, VERSIONS } from './protocol.ts';
import { listResources, readResource, templates } from './resources.ts';
import type { McpCaller } from './session.ts';
import { callTool, listTools } from './tools.ts';

interface Asked {
  caller: McpCaller;
  params: Params;
  era: Era;
  outside: ToolRegistry;
}

interface Method {
  /** Default: both. */
  era?: Era;
  /** How long a client may cache the answer, in milliseconds; stateless era only. */
  ttlMs?: number;
  answer: (asked: Asked) => Promise<object> | object;
}

/** Tools and templates change with a release, a permission or a provider; what people write changes any time. */
const LASTING_MS = 60_000;

const logLevels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'];

const capabilities = { tools: {}, resources: {}, prompts: {}, completions: {} };
const instructions =
  'An agent control plane. All tools, resources and prompts are those of one company: its issues, comments, documents, ' +
  'notes, skills, routines, approvals, agents, runs and costs. Issues may be named by identifier (ABC-12), agents and ' +
  'routines by name, notes by title, skills by slug.';

const serverInfo = () => ({
  name: 'agent-control-plane',
  title: 'Agent control plane',
  version: serviceVersion().version,
});

/** A map, so that inherited names are not methods: clients may send `constructor` too. */
const methods: ReadonlyMap<string, Method> = new Map<string, Method>([
  ['initialize', { era: 'sessions', answer: ({ params }) => initialize(params) }],
  ['ping', { era: 'sessions', answer: () => ({}) }],
  ['logging/setLevel', { era: 'sessions', answer: ({ params }) => setLevel(params) }],
  [
    'server/discover',
    {
      era: 'stateless',
      ttlMs: LASTING_MS,
      answer: () => ({ supportedVersions: VERSIONS, capabilities, instructions }),
    },
  ],
  [
    'tools/list',
    { ttlMs: LASTING_MS, answer: ({ caller, params, outside }) => listTools(caller, params, outside) },
  ],
  // Usually a notification; a client that gives it an id waits for an answer.
  ['notifications/initialized', { era: 'sessions', answer: () => ({}) }],
  ['tools/call', { answer: ({ caller, params, outside }) => callTool(caller, params, outside) }],
  ['resources/list', { ttlMs: 0, answer: ({ caller, params }) => listResources(caller, params) }],
  [
    'resources/templates/list',
    { ttlMs: LASTING_MS, answer: ({ params }) => (cursorParam(params), { resourceTemplates: templates }) },
  ],
  ['resources/read', { ttlMs: 0, answer: ({ caller, params, era }) => readResource(caller, params, era) }],
  ['prompts/list', { ttlMs: 0, answer: ({ caller, params }) => listPrompts(caller, params) }],
  ['prompts/get', { answer: ({ caller, params }) => getPrompt(caller, params) }],
  ['completion/complete', { answer: ({ caller, params }) => complete(caller, params) }],
]);

/** @throws RpcError, or a ServiceError of the act behind it */
export async function dispatch(
  { method, params }: RpcRequest,
  era: Era,
  caller: McpCaller,
  outside: ToolRegistry,
): Promise<object> {
  const known = methods.get(method);
  if (known === undefined || (known.era !== undefined && known.era !== era))
    throw new RpcError(METHOD_NOT_FOUND, 'method not found', era === 'stateless' ? { status: 404 } : {});
  const result = await known.answer({ caller, params, era, outside });
  if (era === 'sessions') return result;
  const { ttlMs } = known;
  return {
    resultType: 'complete',
    ...result,
    ...(ttlMs !== undefined && { ttlMs, cacheScope: 'private' }),
    _meta: { 'io.modelcontextprotocol/serverInfo': serverInfo() },
  };
}

function initialize(params: Params): object {
  // Clients that name no version get the newest, like those that name one unknown here.
  const wanted = params.protocolVersion === undefined ? undefined : textParam(params, 'protocolVersion');
  const protocolVersion = SESSION_VERSIONS.find((version) => version === wanted) ?? SESSION_VERSIONS[0];
  // Log messages are never sent, as there is no stream for them. Setting the level is accepted all the same.
  return {
    protocolVersion,
    capabilities: { ...capabilities, logging: {} },
    serverInfo: serverInfo(),
    instructions,
  };
}

function setLevel(params: Params): object {
  if (!logLevels.includes(textParam(params, 'level')))
    throw invalidParams(`level must be one of: ${logLevels.join(', ')}`);
  return {};
}
