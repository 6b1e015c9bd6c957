import type {
  Actor,
  CreateMcpServer,
  McpAgentAccess,
  McpCommandOffer,
  McpServer,
  UpdateMcpServer,
} from '@acp/contract';
import {
  byCreation,
  containing,
  isUniqueViolation,
  newestFirst,
  type Page,
  schema,
  type SearchRequest,
  signal,
  type Tx,
} from '@acp/db';
import { conflict, invalid, isUuid, newId, notFound, said } from '@acp/kernel';
import { and, eq, inArray, isNull, sql } from 'drizzle-orm';
import { recordChanges } from '../activity/index.ts';
import { assertRoom } from '../bounds/index.ts';
import { ofLiveCompany } from '../companies/index.ts';
import { assertAllowedUrl } from '../providers/index.ts';
import { changeOfServer, type McpServerRow, presentMcpServer, serverColumns } from './present.ts';

const { agents, companies, mcp_server_agents, mcp_servers } = schema;

/** What the operator allows external MCP servers to be, besides the public internet. */
export interface McpServerRules {
  /** SERVICE_MCP_ALLOWED_HOSTS: `name` or `name:port`. */
  allowed_hosts: readonly string[];
  /** SERVICE_MCP_COMMANDS: programs by name, with the only variables that may be set for them. */
  commands: ReadonlyMap<string, { description: string | null; env: readonly string[] }>;
}

/** Reserved for the protocol and the connection: overriding them would break both. */
const OWN_HEADERS =
  /^(accept|connection|content-.*|host|keep-alive|last-event-id|mcp-.*|proxy-.*|te|trailer|transfer-encoding|upgrade)$/i;

/** Loads a server for its scope. */
export async function findMcpServer(tx: Tx, id: string): Promise<McpServerRow | undefined> {
  if (!isUuid(id)) return undefined;
  const [row] = await tx
    .select(serverColumns)
    .from(mcp_servers)
    .innerJoin(companies, ofLiveCompany(mcp_servers.company_id))
    .where(eq(mcp_servers.id, id));
  return row;
}

export async function listMcpServers(
  tx: Tx,
  company_id: string,
  query: SearchRequest,
): Promise<Page<McpServer>> {
  const page = newestFirst(mcp_servers.created_at, mcp_servers.id, query, 50);
  const rows = await tx
    .select(serverColumns)
    .from(mcp_servers)
    .where(
      and(
        eq(mcp_servers.company_id, company_id),
        containing(query.q, [mcp_servers.name, mcp_servers.url]),
        page.where,
      ),
    )
    .orderBy(...page.order)
    .limit(page.limit);
  return page.cut(rows, byCreation, presentMcpServer);
}

/** @throws invalid for a forbidden URL, header or agent, conflict for a taken name and above 50 servers */
export async function createMcpServer(
  tx: Tx,
  actor: Actor,
  company_id: string,
  input: CreateMcpServer,
  rules: McpServerRules,
): Promise<McpServer> {
  const { tools, agents: access, headers = {}, env = {}, enabled = true, ...rest } = input;
  if ((input.url === undefined) === (input.command === undefined))
    throw invalid('either url or command must be given');
  assertPlace(input, rules);
  await assertRoom(tx, 'mcp_servers', company_id);
  const id = newId();
  const restricted = access !== undefined && access !== null;
  const next_refresh_at = enabled ? sql`now()` : null;
  await unlessTaken(async () =>
    tx.insert(mcp_servers).values({
      ...rest,
      id,
      company_id,
      headers,
      env,
      enabled,
      allowed_tools: tools ?? null,
      restricted,
      next_refresh_at,
    }),
  );
  if (restricted) await grant(tx, company_id, id, access);
  return changed(tx, actor, id, 'mcp_server.created');
}

/** Changes a server; absent fields stay. @throws like `createMcpServer` */
export async function updateMcpServer(
  tx: Tx,
  actor: Actor,
  subject: McpServerRow,
  input: UpdateMcpServer,
  rules: McpServerRules,
): Promise<McpServer> {
  const { tools, agents: access, ...rest } = input;
  const [before] = await tx
    .select(serverColumns)
    .from(mcp_servers)
    .where(eq(mcp_servers.id, subject.id))
    .for('no key update');
  if (!before) throw notFound();
  assertStays(rest, before);
  // A program's command and variables are checked together: another program must not inherit the previous one's variables.
  const kept = { command: before.command, env: before.env as Record<string, string> };
  assertPlace(before.command === null ? rest : { ...kept, ...rest }, rules);
  const enabled = rest.enabled ?? before.enabled;
  const elsewhere =
    (rest.url !== undefined && rest.url !== before.url) ||
    (rest.command !== undefined && rest.command !== before.command) ||
    !sameTexts(rest.headers, before.headers as Record<string, string>) ||
    !sameTexts(rest.env, before.env as Record<string, string>) ||
    enabled !== before.enabled;
  await unlessTaken(async () =>
    tx
      .update(mcp_servers)
      .set({
        ...rest,
        ...(tools !== undefined && { allowed_tools: tools }),
        ...(access !== undefined && { restricted: access !== null }),
        ...(elsewhere && { ...unlisted, next_refresh_at: enabled ? sql`now()` : null }),
        updated_at: sql`now()`,
      })
      .where(eq(mcp_servers.id, before.id)),
  );
  if (access !== undefined) await grant(tx, before.company_id, before.id, access);
  return changed(tx, actor, before.id, 'mcp_server.updated', { fields: Object.keys(input) });
}

/** What it said does not apply to another server, or to another caller of it. */
const unlisted = {
  status: 'unlisted',
  listed_tools: [],
  tool_count: 0,
  protocol_version: null,
  server_info: null,
  last_listed_at: null,
  last_error: null,
  failing_since: null,
  failures: 0,
  crashed_at: [],
};

/** Deletes it for good, including the record of its calls. */
export async function deleteMcpServer(tx: Tx, actor: Actor, server: McpServerRow): Promise<void> {
  const gone = await tx
    .delete(mcp_servers)
    .where(eq(mcp_servers.id, server.id))
    .returning({ id: mcp_servers.id });
  if (gone.length === 0) throw notFound();
  signal(tx, 'tools', server.company_id);
  await recordChanges(tx, actor, [changeOfServer(server, 'mcp_server.deleted')]);
}

async function changed(
  tx: Tx,
  actor: Actor,
  id: string,
  action: string,
  details: Record<string, unknown> = {},
): Promise<McpServer> {
  const row = await findMcpServer(tx, id);
  if (!row) throw notFound();
  signal(tx, 'tools', row.company_id);
  await recordChanges(tx, actor, [changeOfServer(row, action, details)]);
  return presentMcpServer(row);
}

/** The operator's programs, by name. */
export function offeredMcpCommands(commands: McpServerRules['commands']): McpCommandOffer[] {
  return [...commands].map(([name, { description, env }]) => ({ name, description, env: [...env] }));
}

/**
 * Replaces the list of agents with access; null empties it. Those in the trash, whom no list shows, keep theirs for their return.
 * @throws invalid for an agent outside the company, or named twice
 */
async function grant(
  tx: Tx,
  company_id: string,
  server_id: string,
  access: readonly McpAgentAccess[] | null,
): Promise<void> {
  const isLive = and(eq(agents.company_id, company_id), isNull(agents.deleted_at));
  const live = tx.select({ id: agents.id }).from(agents).where(isLive);
  await tx
    .delete(mcp_server_agents)
    .where(
      and(
        eq(mcp_server_agents.server_id, server_id),
        access === null ? undefined : inArray(mcp_server_agents.agent_id, live),
      ),
    );
  if (access === null || access.length === 0) return;
  const ids = [...new Set(access.map(({ agent_id }) => agent_id))];
  if (ids.length < access.length) throw invalid('agents names an agent twice');
  const known = await tx
    .select({ id: agents.id })
    .from(agents)
    .where(and(isLive, inArray(agents.id, ids)))
    .for('key share');
  if (known.length < ids.length) throw invalid('unknown agent');
  await tx
    .insert(mcp_server_agents)
    .values(access.map(({ agent_id, tools = null }) => ({ server_id, agent_id, tools })));
}

/** @param after undefined: unchanged */
function sameTexts(after: Record<string, string> | undefined, before: Record<string, string>): boolean {
  if (after === undefined) return true;
  const names = Object.keys(after);
  return (
    names.length === Object.keys(before).length &&
    names.every((name) => Object.hasOwn(before, name) && before[name] === after[name])
  );
}

type Place = Partial<{
  url: string;
  headers: Record<string, string>;
  command: string | null;
  env: Record<string, string>;
}>;

/** HTTP settings make no sense for a program, and vice versa. @throws invalid */
function assertPlace(
  { url, headers, command, env }: Place,
  { allowed_hosts, commands }: McpServerRules,
): void {
  if (url !== undefined) assertAllowedUrl(url, { allowed_hosts, variable: 'SERVICE_MCP_ALLOWED_HOSTS' });
  if (headers !== undefined) assertHeaders(headers);
  if (command === undefined || command === null) {
    if (env !== undefined && Object.keys(env).length > 0) throw invalid('env goes with a command');
    return;
  }
  if (headers !== undefined && Object.keys(headers).length > 0) throw invalid('headers go with a url');
  const offer = commands.get(command);
  if (offer === undefined)
    throw invalid(
      said`command must be one that the operator offers: ${[...commands.keys()].join(', ') || 'there is none'}`,
    );
  const foreign = Object.keys(env ?? {}).find((variable) => !offer.env.includes(variable));
  if (foreign !== undefined) throw invalid(said`env.${foreign} can't be set for ${command}`);
}

/** @throws invalid */
function assertStays({ url, command }: Place, before: Pick<McpServerRow, 'command'>): void {
  if (before.command === null && command !== undefined)
    throw invalid('command: the server is reached by its url');
  if (before.command !== null && url !== undefined) throw invalid('url: the server is a program');
}

function assertHeaders(headers: Record<string, string>): void {
  const own = Object.keys(headers).find((name) => OWN_HEADERS.test(name));
  if (own !== undefined) throw invalid(said`headers.${own} is set by the protocol`);
}

async function unlessTaken<T>(write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    if (isUniqueViolation(error, 'mcp_servers_company_name')) throw conflict('name is already in use');
    throw error;
  }
}
