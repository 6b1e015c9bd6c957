import type { Actor, CommandPayload, CommandResult } from '@acp/contract';
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
  systemActor,
  type ToolCall,
} from '@acp/core';
import { type Database, transaction } from '@acp/db';
import {
  type Config,
  conflict,
  createGuardedFetch,
  type GuardedFetch,
  type Logger,
  notFound,
  said,
  Scrubber,
  unavailable,
  type Vault,
} from '@acp/kernel';
import type { CallToolResult } from '@modelcontextprotocol/client';
import type { WorkspaceSources } from '../workspaces/sources.ts';
import { CompanyPlaces } from '../company-places.ts';
import { listedFetch } from '../egress/listed-fetch.ts';
import { answerOf, errorOf, listedTools } from './mcp-answers.ts';
import { McpConnections } from './mcp-connections.ts';
import type { McpConnection, McpDescription, McpLimits } from './mcp-connection.ts';
import { describeFailure, isRefusal } from './mcp-failures.ts';
import type { McpTarget } from './mcp-link.ts';
import { McpPrograms, type McpProgramTarget } from './mcp-programs.ts';

interface McpServersOptions {
  database: Database;
  logger: Logger;
  vault: Vault;
  config: Config;
  workspaces?: Pick<WorkspaceSources, 'disk'>;
  /** Identifies this process as the owner of programs. */
  name: string;
  /** Passes a command to the scheduler that runs the server's program. */
  elsewhere: Elsewhere;
}

/** Sends commands to the owner of a program. */
export type Elsewhere = <N extends 'call-mcp-program' | 'list-mcp-program'>(
  name: N,
  payload: CommandPayload<N>,
  caller: { actor: Actor; company_id: string },
) => Promise<CommandResult<N>>;

/** A tool as its server knows it. */
type AskedTool = Pick<McpTool, 'server_id' | 'remote_name' | 'input_schema'>;

/** Servers that one process lists concurrently. Each may be slow, so that one company gets only a part of them. */
const AT_ONCE = 12;
const OF_ONE_COMPANY = 3;
/** Below the 30 s within which its caller expects an answer, as is the timeout of calls to programs. */
const LISTING_MS = 20_000;
const PROGRAM_CALL_MS = 25_000;

/**
 * Talks to the companies' outside MCP servers: lists their tools when due, and calls them. Any number of processes may run
 * it: a listing is claimed in the row, and a caller's connection belongs to the process that runs the caller. Programs run
 * in one scheduler, to which the others forward their calls.
 */
export class McpServers {
  readonly #options: McpServersOptions;
  readonly #fetch: GuardedFetch;
  readonly #connections = new McpConnections();
  readonly #programs: McpPrograms;
  readonly #listing = new CompanyPlaces({ all: AT_ONCE, ofOne: OF_ONE_COMPANY });
  readonly #stopping = new AbortController();

  constructor(options: McpServersOptions) {
    this.#options = options;
    const { mcp_allowed_hosts: allow_hosts } = options.config;
    this.#fetch = createGuardedFetch({
      egress: 'public',
      allow_hosts,
      allowed_in: 'SERVICE_MCP_ALLOWED_HOSTS',
    });
    this.#programs = new McpPrograms(options);
  }

  /** Leases of the programs that run here: commands for them are this process's. */
  leases(): string[] {
    return this.#programs.leases();
  }

  /** Call when there are servers to list. */
  async kick(): Promise<void> {
    while (!this.#stopping.signal.aborted && (await this.#listSome()));
  }

  /** @returns whether there may be more */
  async #listSome(): Promise<boolean> {
    const listing = this.#listing;
    const { database, logger } = this.#options;
    const room = Math.min(OF_ONE_COMPANY, listing.free);
    if (room === 0) return false;
    const due = await transaction(database, async (tx) => claimMcpServers(tx, room, listing.full()));
    for (const { id, company_id } of due)
      listing.begin(company_id, async () =>
        this.refresh(id, this.#stopping.signal).catch((error: unknown) =>
          // The claim expires, and the server is listed later.
          logger.warn('an MCP server could not be listed', { server_id: id, error }),
        ),
      );
    return due.length > 0;
  }

  /** Lists the server's tools again and records the outcome in its row. @param abort makes it throw and record nothing */
  async refresh(id: string, abort: AbortSignal): Promise<void> {
    const { database, elsewhere } = this.#options;
    const address = await mcpServerAddress(database.db, id);
    if (address === undefined) return;
    const signal = AbortSignal.any([abort, this.#stopping.signal]);
    const limits = {
      timeout_ms: LISTING_MS,
      signal: AbortSignal.any([signal, AbortSignal.timeout(LISTING_MS)]),
    };
    const scrubber = new Scrubber();
    try {
      const described = await this.#describe(address, limits, scrubber);
      if (described === null) {
        const caller = { actor: systemActor('mcp'), company_id: address.company_id };
        await elsewhere('list-mcp-program', { server_id: id }, caller);
        return;
      }
      const { tools, ...about } = described;
      const listing = {
        ...about,
        server_info: scrubbed(about.server_info, scrubber),
        tools: listedTools(tools, scrubber),
      };
      await transaction(database, async (tx) => recordListing(tx, address, listing));
    } catch (error) {
      if (signal.aborted) throw error;
      const reason = await describeFailure(error, LISTING_MS, scrubber);
      await transaction(database, async (tx) => recordListingFailure(tx, address, reason));
    }
  }

  /** Null if another scheduler runs the program. */
  async #describe(
    address: McpServerAddress,
    limits: McpLimits,
    scrubber: Scrubber,
  ): Promise<McpDescription | null> {
    const describe = async (connection: McpConnection) => connection.describe(limits);
    if (address.url === null) {
      const found = await this.#programs.use(await this.#programOf(address, scrubber), limits, describe);
      return found?.result ?? null;
    }
    // The era may have changed along with the server, so it is negotiated again.
    const target = { ...(await this.#targetOf(address, address.url, scrubber)), protocol_version: null };
    return this.#connections.useOnce(target, limits, describe);
  }

  /** @throws notFound, conflict with the tool's own message, unavailable with what failed on the way */
  async call(
    tool: AskedTool,
    {
      actor,
      company_id,
      input,
      within_ms = Infinity,
    }: Pick<ToolCall, 'actor' | 'company_id' | 'input' | 'within_ms'>,
    abort: AbortSignal,
  ): Promise<unknown> {
    const { database, elsewhere } = this.#options;
    const address = await mcpServerAddress(database.db, tool.server_id);
    if (address?.company_id !== company_id) throw notFound('the server of this tool no longer exists');
    const began = performance.now();
    const longest_ms = address.url === null ? PROGRAM_CALL_MS : within_ms;
    const timeout_ms = Math.min(address.timeout_seconds * 1000, longest_ms);
    const signal = AbortSignal.any([abort, this.#stopping.signal, AbortSignal.timeout(timeout_ms)]);
    const limits = { timeout_ms, signal };
    const scrubber = new Scrubber();
    const record = async (error: string | null) =>
      this.#record(tool, actor, { error, duration_ms: Math.round(performance.now() - began) });
    let answer: CallToolResult | null;
    try {
      answer = await this.#ask(address, tool, { actor, input }, limits, scrubber);
    } catch (error) {
      const reason = abort.aborted ? 'it was called off' : await describeFailure(error, timeout_ms, scrubber);
      await record(reason);
      if (abort.aborted) throw error;
      if (await isRefusal(error)) throw conflict(reason);
      await refreshSoon(database.db, address.id);
      throw unavailable(said`${address.name}: ${reason}`, error);
    }
    if (answer === null) {
      const { server_id, remote_name: name, input_schema } = tool;
      const payload = { server_id, name, input_schema, input };
      return (await elsewhere('call-mcp-program', payload, { actor, company_id })).answer;
    }
    const refusal = answer.isError === true ? errorOf(answer, scrubber) : null;
    await record(refusal);
    if (refusal !== null) throw conflict(refusal);
    return answerOf(answer, scrubber);
  }

  /** A call that was made still counts if recording it fails. */
  async #record(
    { server_id, remote_name }: AskedTool,
    actor: ToolCall['actor'],
    outcome: { error: string | null; duration_ms: number },
  ): Promise<void> {
    const { database, logger } = this.#options;
    try {
      await recordMcpCall(database.db, server_id, actor, { ...outcome, tool: remote_name });
    } catch (error) {
      logger.warn('a call to an MCP server could not be recorded', { server_id, error });
    }
  }

  /** Aborts everything in progress. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all([this.#connections.close(), this.#programs.stop()]);
    await this.#listing.settled();
  }

  async #ask(
    address: McpServerAddress,
    tool: AskedTool,
    { actor, input }: Pick<ToolCall, 'actor' | 'input'>,
    limits: McpLimits,
    scrubber: Scrubber,
  ): Promise<CallToolResult | null> {
    const asked = { name: tool.remote_name, input_schema: tool.input_schema };
    const call = async (connection: McpConnection) => {
      const answer = await connection.call(asked, input as Record<string, unknown>, limits);
      if (connection.toolsChanged) {
        connection.toolsChanged = false;
        await refreshSoon(this.#options.database.db, address.id);
      }
      return answer;
    };
    if (address.url === null) {
      const found = await this.#programs.use(await this.#programOf(address, scrubber), limits, call);
      return found?.result ?? null;
    }
    const target = await this.#targetOf(address, address.url, scrubber);
    const who = `${address.id} ${JSON.stringify(callerOf(actor))}`;
    return this.#connections.use(who, target, limits, call);
  }

  async #targetOf(address: McpServerAddress, url: string, scrubber: Scrubber): Promise<McpTarget> {
    const { company_id, headers, protocol_version } = address;
    const send = listedFetch(this.#options.database, { company_id, door: 'mcp' }, this.#fetch);
    return { url, send, headers: await this.#resolved(address, headers, scrubber), protocol_version };
  }

  async #programOf(address: McpServerAddress, scrubber: Scrubber): Promise<McpProgramTarget> {
    return { address, env: await this.#resolved(address, address.env, scrubber), scrubber };
  }

  async #resolved(
    { company_id }: McpServerAddress,
    texts: Record<string, string>,
    scrubber: Scrubber,
  ): Promise<Record<string, string>> {
    const { database, vault } = this.#options;
    const { value, secrets } = await resolveSecrets(database.db, company_id, texts, vault);
    for (const secret of secrets) scrubber.addSecret(secret);
    return value;
  }
}

const scrubbed = (text: string | null, scrubber: Scrubber): string | null =>
  text === null ? null : scrubber.scrub(text).replaceAll('\0', '').toWellFormed().slice(0, 200);

/** Calls of one run share a connection, as do those of one key. */
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
