import { setTimeout as pause } from 'node:timers/promises';
import {
  claimMcpProgram,
  type McpProgramHold,
  type McpServerAddress,
  releaseMcpProgram,
  renewMcpPrograms,
} from '@acp/core';
import { mcpProgramLease } from '@acp/contract';
import type { Database } from '@acp/db';
import {
  type Config,
  type Controller,
  type Logger,
  type Scrubber,
  sha256Hex,
  storableText,
  unavailable,
  unlessAborted,
} from '@acp/kernel';
import type { ProcessEnd } from '../plugins/line-process.ts';
import type { WorkspaceSources } from '../workspaces/sources.ts';
import { UsageWatch } from '../plugins/usage-watch.ts';
import { ServerFault } from './bounded-fetch.ts';
import { McpConnection, type McpLimits } from './mcp-connection.ts';
import { isRefusal } from './mcp-failures.ts';
import { type ProgramProcess, programLink } from './mcp-program-link.ts';
import { prepareProgram } from './prepare-program.ts';

interface McpProgramParts {
  config: Config;
  database: Database;
  /** Where other programs work, on the same disk. */
  workspaces?: Pick<WorkspaceSources, 'disk'>;
  logger: Logger;
  /** Identifies this process as the lease owner. */
  name: string;
}

/** A server that is a program, with its environment. */
export interface McpProgramTarget {
  address: McpServerAddress;
  env: Record<string, string>;
  /** Knows the secrets in the environment. */
  scrubber: Scrubber;
}

interface Running {
  hold: McpProgramHold;
  company_id: string;
  /** Identifies the settings that it was started with. */
  key: string;
  connection: Promise<McpConnection>;
  process: ProgramProcess | undefined;
  workspace: string;
  grouped: readonly Controller[];
  users: number;
  used_at: number;
  idle: NodeJS.Timeout | undefined;
  /** The process has ended, or is being ended by this scheduler. */
  over: boolean;
  /** The process ended by itself. */
  crashed: boolean;
}

const LONGEST_LEASE_SEC = 15;
/** Fractions of a lease: when it is renewed, and when programs whose lease could not be renewed are given up. */
const [RENEW, GIVE_UP] = [0.3, 0.75];
/** Time from the last call until the program is stopped. */
const IDLE_MS = 120_000;
const START_MS = 15_000;
const PING_MS = 5000;
/** How long commands for a released lease are still accepted: they may have been sent before the release. */
const AFTERMATH_MS = 5000;
const STDERR_SHOWN = 300;

/**
 * One scheduler's MCP servers that are programs. Each starts with its first call, is sandboxed like a plugin, runs in one
 * scheduler at a time for all callers of its company, and stops two minutes after the last call.
 */
export class McpPrograms {
  readonly #parts: McpProgramParts;
  readonly #leaseSec: number;
  readonly #running = new Map<string, Running>();
  /** These can't be started before they have ended; their leases are kept until then. */
  readonly #ending = new Map<string, { hold: McpProgramHold; ended: Promise<void> }>();
  readonly #given = new Set<string>();
  readonly #stopping = new AbortController();
  readonly #watch: UsageWatch;
  #renewals: NodeJS.Timeout | undefined;
  #renewedAt = 0;

  constructor(parts: McpProgramParts) {
    this.#parts = parts;
    this.#leaseSec = Math.min(parts.config.run_lease_sec, LONGEST_LEASE_SEC);
    this.#watch = new UsageWatch(parts.config, () => this.#watched(), { disk: parts.workspaces?.disk });
  }

  /** Leases reported to the queue: commands for these are this scheduler's. */
  leases(): string[] {
    const ids = new Set([...this.#running.keys(), ...this.#given]);
    return [...ids].map((server_id) => mcpProgramLease({ server_id }));
  }

  /**
   * Works on the program's connection; starts the program if it does not run.
   * @returns null if another scheduler runs it @throws unavailable, conflict if it may not run, ServerFault
   */
  async use<T>(
    target: McpProgramTarget,
    limits: McpLimits,
    work: (connection: McpConnection) => Promise<T>,
  ): Promise<{ result: T } | null> {
    const running = await this.#take(target);
    if (running === null) return null;
    running.users += 1;
    clearTimeout(running.idle);
    try {
      const connection = await unlessAborted(running.connection, limits.signal);
      return { result: await work(connection) };
    } catch (error) {
      if (!running.over && !(await isRefusal(error))) void this.#doubt(running);
      throw error;
    } finally {
      running.users -= 1;
      running.used_at = performance.now();
      if (running.users === 0 && !running.over)
        running.idle = setTimeout(() => void this.#end(running), IDLE_MS).unref();
    }
  }

  /** Stops all programs and releases their leases. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#watch.stop();
    await Promise.all([...this.#running.values()].map(async (each) => this.#end(each)));
    await Promise.all([...this.#ending.values()].map(async ({ ended }) => ended));
    clearInterval(this.#renewals);
  }

  async #take(target: McpProgramTarget): Promise<Running | null> {
    const { database, name } = this.#parts;
    const { id, company_id, command } = target.address;
    const key = `${id} ${sha256Hex(JSON.stringify([command, target.env]))}`;
    for (;;) {
      if (this.#stopping.signal.aborted) throw unavailable('the scheduler stops');
      await this.#ending.get(id)?.ended;
      const known = this.#running.get(id);
      if (known !== undefined && known.key !== key) await this.#end(known);
      else if (known !== undefined && this.#sinceRenewal() < GIVE_UP) return known;
      else {
        if (known === undefined && (await this.#makeRoom(company_id))) continue;
        const asked = performance.now();
        const claim = await claimMcpProgram(database.db, id, name, this.#leaseSec);
        if (claim.how === 'unstable')
          throw unavailable('its program failed three times in five minutes and is paused for a while');
        if (claim.how === 'elsewhere') {
          // Commands for it are no longer this scheduler's: one that arrived here is passed on to the other.
          this.#given.delete(id);
          return null;
        }
        const { fence } = claim;
        const now = this.#running.get(id);
        if (now?.hold.fence === fence) return now;
        if (now !== undefined) await this.#end(now, 'at once');
        else if (!this.#ending.has(id) && !this.#isFull(company_id)) {
          if (this.#running.size === 0) this.#renewedAt = asked;
          return this.#start(target, { server_id: id, held_by: name, fence }, key);
        }
      }
    }
  }

  #start({ address, env, scrubber }: McpProgramTarget, hold: McpProgramHold, key: string): Running {
    const limits = {
      timeout_ms: START_MS,
      signal: AbortSignal.any([this.#stopping.signal, AbortSignal.timeout(START_MS)]),
    };
    const onEnd = (end: ProcessEnd): ServerFault | null => this.#ended(running, end, scrubber);
    const opened = async (): Promise<McpConnection> => {
      const prepared = await prepareProgram(this.#parts.config, address.command ?? '', env, hold);
      running.workspace = prepared.workspace;
      running.grouped = prepared.command.grouped;
      const onStart = (process: ProgramProcess) => (running.process = process);
      return McpConnection.open(async (fail) => programLink(prepared.command, onStart, onEnd, fail), limits);
    };
    const running: Running = {
      hold,
      company_id: address.company_id,
      key,
      connection: Promise.resolve().then(opened),
      process: undefined,
      workspace: '',
      grouped: [],
      users: 0,
      used_at: performance.now(),
      idle: undefined,
      over: false,
      crashed: false,
    };
    running.connection.catch(() => void this.#end(running));
    this.#running.set(hold.server_id, running);
    this.#given.delete(hold.server_id);
    this.#renewals ??= setInterval(() => void this.#renew(), RENEW * this.#leaseSec * 1000).unref();
    this.#watch.start();
    return running;
  }

  /** Turns the process's end into the error for pending calls; null if the end was intended. */
  #ended(running: Running, { failure, stderr }: ProcessEnd, scrubber: Scrubber): ServerFault | null {
    const wasWanted = running.over;
    running.crashed ||= failure !== null && !wasWanted;
    void this.#end(running);
    if (!running.crashed) return null;
    const said = storableText(scrubber.scrub(stderr)).trim().slice(-STDERR_SHOWN);
    return new ServerFault(`its program failed: ${failure}${said === '' ? '' : `; it last wrote: ${said}`}`);
  }

  /** Pings a program after a failed call: one that does not answer is killed. */
  async #doubt(running: Running): Promise<void> {
    try {
      const connection = await running.connection;
      await connection.ping({ timeout_ms: PING_MS, signal: this.#stopping.signal });
    } catch {
      if (running.over) return;
      running.crashed = true;
      running.process?.fail('it does not answer');
      await this.#end(running, 'at once');
    }
  }

  #isFull(company_id: string): boolean {
    const most = this.#parts.config.mcp_max_programs;
    const own = [...this.#running.values()].filter((each) => each.company_id === company_id).length;
    return this.#running.size >= most || own >= Math.ceil(most / 2);
  }

  /** Stops the program idle the longest, one of the company's if only its share is used up. @returns whether it did */
  async #makeRoom(company_id: string): Promise<boolean> {
    if (!this.#isFull(company_id)) return false;
    const isFull = this.#running.size >= this.#parts.config.mcp_max_programs;
    const [rests] = [...this.#running.values()]
      .filter(({ users, company_id: owner }) => users === 0 && (isFull || owner === company_id))
      .toSorted((a, b) => a.used_at - b.used_at);
    if (rests === undefined) throw unavailable('too many programs are running: try again');
    await this.#end(rests);
    return true;
  }

  /** Stops the program completely before releasing its lease. */
  async #end(running: Running, how: 'in its time' | 'at once' = 'in its time'): Promise<void> {
    const { hold } = running;
    clearTimeout(running.idle);
    running.over = true;
    if (this.#running.get(hold.server_id) === running) {
      this.#running.delete(hold.server_id);
      const ended = this.#bury(running, how).finally(() => this.#ending.delete(hold.server_id));
      this.#ending.set(hold.server_id, { hold, ended });
    }
    await this.#ending.get(hold.server_id)?.ended;
  }

  async #bury(running: Running, how: 'in its time' | 'at once'): Promise<void> {
    const { database, logger } = this.#parts;
    const { hold, connection } = running;
    if (how === 'at once') await running.process?.kill();
    // A connection that was never established has nothing to close.
    await connection.then(async (each) => each.close()).catch(() => undefined);
    await running.process?.kill();
    this.#given.add(hold.server_id);
    void pause(AFTERMATH_MS, undefined, { ref: false }).then(() => this.#given.delete(hold.server_id));
    await releaseMcpProgram(database.db, hold, running.crashed).catch((error: unknown) =>
      // The lease expires.
      logger.warn('the lease of an MCP server could not be released', { server_id: hold.server_id, error }),
    );
  }

  /** Time since the last renewal, as a fraction of the lease. */
  #sinceRenewal(): number {
    return (performance.now() - this.#renewedAt) / (this.#leaseSec * 1000);
  }

  /** Stops what was lost, switched off or deleted; and everything that can't be renewed, before another may claim it. */
  async #renew(): Promise<void> {
    const running = [...this.#running.values()];
    const holds = [...running, ...this.#ending.values()].map(({ hold }) => hold);
    if (holds.length === 0) return;
    // If the database does not answer at all, the previous renewal hangs, so the lease's age is checked first.
    if (this.#sinceRenewal() > GIVE_UP) for (const each of running) void this.#end(each, 'at once');
    const asked = performance.now();
    try {
      const kept = await renewMcpPrograms(this.#parts.database.db, holds, this.#leaseSec);
      this.#renewedAt = asked;
      for (const each of running) if (!kept.has(each.hold.server_id)) void this.#end(each, 'at once');
    } catch (error) {
      this.#parts.logger.warn('the leases of MCP servers could not be renewed', { error });
    }
  }

  *#watched() {
    for (const running of this.#running.values()) {
      const { process, workspace, grouped } = running;
      yield {
        pid: process?.pid,
        workspace,
        grouped,
        kill: async (reason: string) => {
          process?.fail(reason);
          return Promise.resolve();
        },
      };
    }
  }
}
