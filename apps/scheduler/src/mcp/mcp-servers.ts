import {
  claimMcpServers,
  mcpServerAddress,
  type McpServerAddress,
  type McpTool,
  recordListing,
  recordListingFailure,
  recordMcpCall,
  refreshSoon,
  resolveSecrets,
  type ToolCall,
} from '@acp/core';
import { type Database, transaction } from '@acp/db';
import {
  type Config,
  conflict,
  createGuardedFetch,
  type Logger,
  notFound,
  Scrubber,
  unavailable,
  type Vault,
} from '@acp/kernel';
import { answerOf, errorOf, listedTools } from './mcp-answers.ts';
import { McpConnections } from './mcp-connections.ts';
import type { McpConnection, McpLimits, McpTarget } from './mcp-connection.ts';
import { describeFailure, isRefusal } from './mcp-failures.ts';

interface McpServersOptions {
  database: Database;
  logger: Logger;
  vault: Vault;
  config: Pick<Config, 'mcp_allowed_hosts'>;
}

/** Servers that one process lists at once. */
const MAX_AT_ONCE = 8;
/** Below the 30 s in which whoever asks for it is answered. */
const LISTING_MS = 20_000;

/**
 * Talks to the companies' outside MCP servers: lists their tools when it is time to, and calls them. Any number of
 * processes may do so: a listing is claimed in the row, a caller's conversation is the process's that runs it.
 */
export class McpServers {
  readonly #options: McpServersOptions;
  readonly #connections: McpConnections;
  readonly #listing = new Set<Promise<void>>();
  readonly #stopping = new AbortController();

  constructor(options: McpServersOptions) {
    this.#options = options;
    const { mcp_allowed_hosts: allow_hosts } = options.config;
    this.#connections = new McpConnections(createGuardedFetch({ egress: 'public', allow_hosts }));
  }

  /** There are servers to list. */
  async kick(): Promise<void> {
    const room = MAX_AT_ONCE - this.#listing.size;
    if (room <= 0 || this.#stopping.signal.aborted) return;
    const { database, logger } = this.#options;
    const ids = await transaction(database, async (tx) => claimMcpServers(tx, room));
    for (const id of ids) {
      const done = this.refresh(id, this.#stopping.signal)
        // Its claim lapses: it is listed later.
        .catch((error: unknown) => logger.warn('an MCP server could not be listed', { server_id: id, error }))
        .finally(() => this.#listing.delete(done));
      this.#listing.add(done);
    }
  }

  /** Lists the server's tools anew; what came of it stands in its row. @param abort throws then, and records nothing */
  async refresh(id: string, abort: AbortSignal): Promise<void> {
    const { database } = this.#options;
    const address = await mcpServerAddress(database.db, id);
    if (address === undefined) return;
    const signal = AbortSignal.any([abort, this.#stopping.signal]);
    const limits = {
      timeout_ms: LISTING_MS,
      signal: AbortSignal.any([signal, AbortSignal.timeout(LISTING_MS)]),
    };
    const scrubber = new Scrubber();
    try {
      // The era may have changed with the server: it is asked for anew.
      const target = { ...(await this.#targetOf(address, scrubber)), protocol_version: null };
      const { tools, ...about } = await this.#connections.useOnce(target, limits, async (connection) =>
        connection.describe(limits),
      );
      const listing = {
        ...about,
        server_info: scrubbed(about.server_info, scrubber),
        tools: listedTools(tools, scrubber),
      };
      await transaction(database, async (tx) => recordListing(tx, address, listing));
    } catch (error) {
      if (signal.aborted) throw error;
      const reason = scrubber.scrub(await describeFailure(error, LISTING_MS));
      await transaction(database, async (tx) => recordListingFailure(tx, address, reason));
    }
  }

  /** @throws notFound, conflict with the tool's own words, unavailable with what went wrong on the way */
  async call(tool: McpTool, { actor, company_id, input }: ToolCall, abort: AbortSignal): Promise<unknown> {
    const { database } = this.#options;
    const address = await mcpServerAddress(database.db, tool.server_id);
    if (address?.company_id !== company_id) throw notFound('the server of this tool is gone');
    const began = performance.now();
    const timeout_ms = address.timeout_seconds * 1000;
    const signal = AbortSignal.any([abort, this.#stopping.signal, AbortSignal.timeout(timeout_ms)]);
    const limits = { timeout_ms, signal };
    const scrubber = new Scrubber();
    const record = async (error: string | null) =>
      this.#record(tool, actor, { error, duration_ms: Math.round(performance.now() - began) });
    let answer: Awaited<ReturnType<McpConnection['call']>>;
    try {
      answer = await this.#ask(address, tool, { actor, input }, limits, scrubber);
    } catch (error) {
      const reason = scrubber.scrub(await this.#reasonOf(error, abort, timeout_ms));
      await record(reason);
      if (abort.aborted) throw error;
      if (await isRefusal(error)) throw conflict(reason);
      await refreshSoon(database.db, address.id);
      throw unavailable(`${address.name}: ${reason}`, error);
    }
    const refusal = answer.isError === true ? errorOf(answer, scrubber) : null;
    await record(refusal);
    if (refusal !== null) throw conflict(refusal);
    return answerOf(answer, scrubber);
  }

  /** A call that was made is not undone by a record that fails. */
  async #record(
    { server_id, remote_name }: McpTool,
    actor: ToolCall['actor'],
    outcome: { error: string | null; duration_ms: number },
  ): Promise<void> {
    const { database, logger } = this.#options;
    try {
      await recordMcpCall(database.db, server_id, actor, { ...outcome, tool: remote_name });
    } catch (error) {
      logger.warn('a call of an MCP server could not be recorded', { server_id, error });
    }
  }

  /** What is under way is broken off. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#connections.close();
    await Promise.all(this.#listing);
  }

  async #ask(
    address: McpServerAddress,
    tool: McpTool,
    { actor, input }: Pick<ToolCall, 'actor' | 'input'>,
    limits: McpLimits,
    scrubber: Scrubber,
  ) {
    const target = await this.#targetOf(address, scrubber);
    const who = `${address.id} ${JSON.stringify(callerOf(actor))}`;
    const asked = { name: tool.remote_name, input_schema: tool.input_schema };
    return this.#connections.use(who, target, limits, async (connection) => {
      const answer = await connection.call(asked, input as Record<string, unknown>, limits);
      if (connection.toolsChanged) {
        connection.toolsChanged = false;
        await refreshSoon(this.#options.database.db, address.id);
      }
      return answer;
    });
  }

  async #targetOf(address: McpServerAddress, scrubber: Scrubber): Promise<McpTarget> {
    const { database, vault } = this.#options;
    const { company_id, headers, url, protocol_version } = address;
    const { value, secrets } = await resolveSecrets(database.db, company_id, headers, vault);
    for (const secret of secrets) scrubber.addSecret(secret);
    return { url, headers: value, protocol_version };
  }

  async #reasonOf(error: unknown, abort: AbortSignal, timeout_ms: number): Promise<string> {
    return abort.aborted ? 'it was called off' : describeFailure(error, timeout_ms);
  }
}

const scrubbed = (text: string | null, scrubber: Scrubber): string | null =>
  text === null ? null : scrubber.scrub(text).replaceAll('\0', '').toWellFormed().slice(0, 200);

/** A run's calls are one conversation, as are those of a key. */
function callerOf(actor: ToolCall['actor']): readonly (string | null)[] {
  switch (actor.kind) {
    case 'agent':
      return ['agent', actor.agent_id, actor.run_id];
    case 'board_user':
      return ['key', actor.key_id];
    case 'user':
      return ['user', actor.user_id];
    default:
      return [actor.kind];
  }
}
