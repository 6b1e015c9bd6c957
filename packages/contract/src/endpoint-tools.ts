/**
 * The endpoint table as tools for models (MCP): everything a company key can do there with JSON. A tool takes one object,
 * which is split into the endpoint's path, query and body. The endpoint's rights, scope and shapes apply.
 */
import { type TObject, type TSchema, Type } from 'typebox';
import { type EndpointRow, pathParams } from './endpoint.ts';
import { endpoints } from './endpoints.ts';
import { type McpToolset, toolsetOf } from './mcp-toolsets.ts';
import { JsonObject, Nullable } from './schema-kit.ts';

/** Entities that a tool argument may name by something other than an id: identifier, title, slug or name. */
export type NamedThing = 'issue' | 'note' | 'skill' | 'routine' | 'agent';

/** A path parameter of the endpoint, as an argument of the tool. */
export interface PathArgument {
  param: string;
  argument: string;
  named: NamedThing | null;
}

export interface EndpointTool {
  /** `create_issue` */
  name: string;
  title: string;
  toolset: McpToolset;
  row: EndpointRow;
  input: TObject;
  /** Shape of the tool's result; undefined if the endpoint's responses have more than one shape. */
  output: TSchema | undefined;
  path: readonly PathArgument[];
  query: readonly string[];
  /** Fields of the body; null if the body is a free-form map, passed as the argument `body`. */
  body: readonly string[] | null;
}

/**
 * The slices that become tools, with the singular and plural used in tool names. Excluded is what only people do, and a
 * company's set-up: members, keys, secrets, providers, webhooks, plugins, channels, servers.
 */
const nouns: Readonly<Record<string, readonly [one: string, many: string]>> = {
  activity: ['activity', 'activity'],
  agents: ['agent', 'agents'],
  'task-sessions': ['task_session', 'task_sessions'],
  projects: ['project', 'projects'],
  goals: ['goal', 'goals'],
  issues: ['issue', 'issues'],
  labels: ['label', 'labels'],
  relations: ['issue_relation', 'issue_relations'],
  'execution-decisions': ['execution_decision', 'execution_decisions'],
  comments: ['comment', 'comments'],
  documents: ['document', 'documents'],
  attachments: ['attachment', 'attachments'],
  'work-products': ['work_product', 'work_products'],
  workspaces: ['workspace', 'workspaces'],
  'review-comments': ['review_comment', 'review_comments'],
  'workspace-actions': ['workspace_action', 'workspace_actions'],
  notes: ['note', 'notes'],
  skills: ['skill', 'skills'],
  'agent-files': ['agent_file', 'agent_files'],
  knowledge: ['knowledge', 'knowledge'],
  'compiled-index': ['compiled_index', 'compiled_index'],
  approvals: ['approval', 'approvals'],
  budgets: ['budget', 'budgets'],
  runs: ['run', 'runs'],
  routines: ['routine', 'routines'],
  'routine-triggers': ['routine_trigger', 'routine_triggers'],
  chats: ['chat', 'chats'],
  councils: ['council', 'councils'],
  subagents: ['subagent', 'subagents'],
  evolutions: ['prompt_evolution', 'prompt_evolutions'],
  peers: ['peer', 'peers'],
  inbox: ['inbox', 'inbox'],
  search: ['search', 'search'],
  figures: ['figures', 'figures'],
};

/** Names that the rule would get wrong. */
const given: Readonly<Record<string, string>> = {
  'activity.of-issue': 'list_issue_activity',
  'attachments.text': 'read_attachment',
  'agents.get-me': 'get_me',
  'agents.org-tree': 'get_org_tree',
  'agents.test-codex-adapter': 'test_agent_second_cli_adapter',
  'agent-files.list-skills': 'list_agent_own_skills',
  'agent-files.create-skill': 'create_agent_own_skill',
  'agent-files.get-skill': 'get_agent_own_skill',
  'agent-files.put-skill': 'put_agent_own_skill',
  'agent-files.delete-skill': 'delete_agent_own_skill',
  'budgets.summary': 'get_cost_summary',
  'budgets.list-cost-events': 'list_cost_events',
  'budgets.create-cost-event': 'create_cost_event',
  'budgets.list-prices': 'list_model_prices',
  'budgets.set-price': 'set_model_price',
  'budgets.delete-price': 'delete_model_price',
  'chats.messages': 'list_chat_messages',
  'chats.post': 'send_chat_message',
  'chats.resend': 'resend_chat_message',
  'chats.stop': 'stop_chat_reply',
  'comments.react': 'react_to_comment',
  'comments.unreact': 'remove_comment_reaction',
  'comments.versions': 'list_comment_versions',
  'compiled-index.compile': 'compile_index',
  'compiled-index.configure': 'configure_compiled_index',
  'documents.revisions': 'list_document_revisions',
  'figures.agents': 'get_agent_figures',
  'figures.days': 'get_daily_figures',
  'evolutions.evolve': 'evolve_agent_prompt',
  'inbox.lite': 'get_my_inbox',
  'inbox.read': 'mark_issue_read',
  'inbox.readAll': 'mark_all_issues_read',
  'inbox.snooze': 'snooze_issue',
  'inbox.snooze-approval': 'snooze_approval',
  'inbox.unread': 'mark_issue_unread',
  'inbox.unsnooze-approval': 'unsnooze_approval',
  'issues.change': 'change_issues',
  'issues.deleted': 'list_deleted_issues',
  'issues.force-release': 'force_release_issue',
  'knowledge.search': 'search_knowledge',
  'peers.list-pushes': 'list_push_deliveries',
  'peers.refresh': 'refresh_peer',
  'runs.invoke': 'invoke_agent',
  'runs.invoke-me': 'invoke_me',
  'subagents.of-agent': 'list_agent_subagents',
  'subagents.of-issue': 'list_issue_subagents',
  'runs.trigger-issue': 'trigger_issue_agent',
  'search.find': 'search',
  'skills.attach': 'attach_skill',
  'skills.detach': 'detach_skill',
  'workspaces.review': 'review_workspace',
  'workspaces.files': 'list_workspace_files',
  'workspaces.commits': 'list_workspace_commits',
  'workspace-actions.push': 'push_workspace',
  'workspace-actions.open-pull-request': 'open_pull_request',
  'workspace-actions.merge': 'merge_pull_request',
};

/** Duplicates, keys, and endpoints that would expose one. As over HTTP, `agents.create` shows a first key to agents only. */
const leftOut = new Set([
  'runs.events-alias',
  'inbox.get',
  'peers.create',
  'agents.list-keys',
  'agents.delete-key',
]);
const mayShowKey = new Set(['agents.create']);

const verbs = new Set(
  'activate add approve archive attach cancel checkout clear convene create delete detach evolve fire force get invoke list pause pin promote put reject release remove request resolve restore resubmit resume rotate search test unarchive update'.split(
    ' ',
  ),
);

/** `issues.add-label` becomes `add_issue_label`, `agents.runtime-state` `get_agent_runtime_state`. */
function nameOf({ id, method }: EndpointRow): string {
  const name = given[id];
  if (name !== undefined) return name;
  const [slice = '', verb = ''] = id.split('.');
  const [one, many] = nouns[slice] ?? [slice, slice];
  const [first = '', ...rest] = verb.split('-');
  if (verb === 'list') return `list_${many}`;
  if (verbs.has(first)) return [first, one, ...rest].join('_');
  return [...(method === 'GET' ? ['get'] : []), one, first, ...rest].join('_');
}

const sliceOf = ({ id }: EndpointRow): string => id.slice(0, id.indexOf('.'));

const isTool = (row: EndpointRow): boolean =>
  Object.hasOwn(nouns, sliceOf(row)) &&
  !leftOut.has(row.id) &&
  (row.auth.includes('agent') || row.auth.includes('board_user')) &&
  row.role !== 'instance_admin' &&
  row.streams === undefined &&
  (row.body_kind === undefined || row.body_kind === 'json_or_multipart') &&
  (row.issues_secret === undefined || mayShowKey.has(row.id));

const namedThings: Readonly<Record<string, readonly [NamedThing, string]>> = {
  issueId: ['issue', 'Identifier (ABC-12) or id of the issue'],
  noteId: ['note', 'Id or title of the note'],
  skillId: ['skill', 'Slug or id of the skill'],
  routineId: ['routine', 'Id or name of the routine'],
  agentId: ['agent', 'Id or name of the agent'],
};

const snake = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

function toolOf(row: EndpointRow): EndpointTool {
  const query = fieldsOf(row.query);
  const free = row.body !== undefined && !('properties' in row.body);
  const body = free
    ? { body: row.body_optional ? Type.Optional(JsonObject) : JsonObject }
    : fieldsOf(row.body, row.body_optional);
  const path = pathParams(row.path)
    .filter((param) => param !== 'companyId')
    .map((param): PathArgument & { schema: TSchema } => {
      const [named, description] = namedThings[param] ?? [null, ''];
      const word = snake(param.replace(/Id$/, ''));
      const argument = Object.hasOwn(body, word) || Object.hasOwn(query, word) ? `${word}_id` : word;
      const about =
        description || `${param.endsWith('Id') ? 'Id' : 'Name'} of the ${word.replaceAll('_', ' ')}`;
      const schema = Type.String({ minLength: 1, maxLength: 500, description: about });
      return { param, argument, named, schema };
    });
  const inPath = Object.fromEntries(path.map(({ argument, schema }) => [argument, schema]));
  const name = nameOf(row);
  const title = name.replaceAll('_', ' ');
  return {
    name,
    title: title.charAt(0).toUpperCase() + title.slice(1),
    toolset: toolsetOf(sliceOf(row)),
    row,
    input: Type.Object({ ...inPath, ...query, ...body }, { additionalProperties: false }),
    output: outputOf(row),
    path: path.map(({ param, argument, named }) => ({ param, argument, named })),
    query: Object.keys(query),
    body: free ? null : Object.keys(body),
  };
}

/** @param optional the whole object may be omitted, so each of its fields is optional */
function fieldsOf(schema: TSchema | undefined, optional = false): Record<string, TSchema> {
  if (schema === undefined || !('properties' in schema)) return {};
  const { properties, required } = schema as TObject;
  const needed = new Set<string>(required ?? []);
  return Object.fromEntries(
    Object.entries(properties).map(([name, field]) => [
      name,
      optional || !needed.has(name) ? Type.Optional(field) : field,
    ]),
  );
}

const next_cursor = Nullable(Type.String());

/** MCP requires an object: a list is wrapped in one, along with the cursor for the next page. */
function outputOf({ response, paged }: EndpointRow): TSchema | undefined {
  if (response === null) return Type.Object({ done: Type.Literal(true) });
  const { type } = response as { type?: unknown };
  if (type === 'array') return Type.Object({ items: response, ...(paged && { next_cursor }) });
  if (type !== 'object') return undefined;
  return paged ? Type.Object({ ...(response as TObject).properties, next_cursor }) : response;
}

/** Wraps an endpoint's result in the object that the tool returns. */
export function toolAnswer({ row }: EndpointTool, result: unknown, cursor: string | null): object {
  if (row.response === null || result === undefined) return { done: true };
  const page = row.paged && { next_cursor: cursor };
  if (Array.isArray(result)) return { items: result, ...page };
  return typeof result === 'object' && result !== null ? { ...result, ...page } : { value: result };
}

/** In the order of the endpoint table. A name has at most 64 letters, digits and underscores, and is unique. */
export const endpointTools: readonly EndpointTool[] = endpoints.filter(isTool).map(toolOf);
