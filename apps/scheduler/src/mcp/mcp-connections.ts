import { sha256Hex, unlessAborted } from '@acp/kernel';
import { hasLostSession, isRefusal } from './mcp-failures.ts';
import { McpConnection, type McpLimits } from './mcp-connection.ts';
import { httpLink, type McpTarget } from './mcp-link.ts';

interface Kept {
  connection: Promise<McpConnection>;
  /** Aborted when nobody waits for it any more. */
  opening: AbortController;
  users: number;
  /** Given up: closed as soon as its last user is done. */
  over: boolean;
  idle: NodeJS.Timeout | undefined;
}

const MOST = 200;
/** Idle time after which a connection is closed, and the server's session with it. */
const IDLE_MS = 120_000;
/** Longer than any caller waits: what ends the opening is that nobody waits for it any more. */
const OPENING_MS = 130_000;

/** Open connections of one process: one per server and caller, closed when idle. */
export class McpConnections {
  /** Least recently used first. */
  readonly #kept = new Map<string, Kept>();

  /** Works on a connection that is closed afterwards. */
  async useOnce<T>(
    target: McpTarget,
    limits: McpLimits,
    work: (connection: McpConnection) => Promise<T>,
  ): Promise<T> {
    const connection = await McpConnection.open(httpLink(target), limits);
    try {
      return await work(connection);
    } finally {
      await connection.close();
    }
  }

  /**
   * Works on the caller's connection, which is opened if there is none. If its session was lost since the last call, it is
   * reopened once: the server has then refused the request without processing it.
   * @param who distinguishes callers: they share no session
   */
  async use<T>(
    who: string,
    target: McpTarget,
    limits: McpLimits,
    work: (connection: McpConnection) => Promise<T>,
  ): Promise<T> {
    // A different address or token needs a different connection.
    const key = `${who} ${sha256Hex(JSON.stringify([target.url, target.headers]))}`;
    const reused = this.#kept.has(key);
    try {
      return await this.#once(key, target, limits, work);
    } catch (error) {
      if (!reused || !(await hasLostSession(error))) throw error;
      return await this.#once(key, target, limits, work);
    }
  }

  async #once<T>(
    key: string,
    target: McpTarget,
    limits: McpLimits,
    work: (connection: McpConnection) => Promise<T>,
  ): Promise<T> {
    const kept = this.#take(key, target);
    try {
      const result = await work(await unlessAborted(kept.connection, limits.signal));
      this.#rest(key, kept);
      return result;
    } catch (error) {
      if (await isRefusal(error)) this.#rest(key, kept);
      else this.#drop(key, kept);
      throw error;
    } finally {
      kept.users -= 1;
      if (kept.over && kept.users === 0) void end(kept);
    }
  }

  #take(key: string, target: McpTarget): Kept {
    const kept = this.#kept.get(key) ?? open(target);
    kept.users += 1;
    clearTimeout(kept.idle);
    this.#kept.delete(key);
    this.#kept.set(key, kept);
    if (this.#kept.size > MOST) this.#dropOne();
    return kept;
  }

  #rest(key: string, kept: Kept): void {
    if (kept.over) return;
    clearTimeout(kept.idle);
    kept.idle = setTimeout(() => this.#drop(key, kept), IDLE_MS).unref();
  }

  #dropOne(): void {
    for (const [key, kept] of this.#kept) {
      if (kept.users > 0) continue;
      this.#drop(key, kept);
      return;
    }
  }

  #drop(key: string, kept: Kept): void {
    clearTimeout(kept.idle);
    if (this.#kept.get(key) === kept) this.#kept.delete(key);
    kept.over = true;
    if (kept.users === 0) void end(kept);
  }

  /** Closes all connections; work in progress fails. */
  async close(): Promise<void> {
    const all = [...this.#kept.values()];
    this.#kept.clear();
    for (const { idle } of all) clearTimeout(idle);
    await Promise.all(all.map(end));
  }
}

function open(target: McpTarget): Kept {
  const opening = new AbortController();
  const limits = { timeout_ms: OPENING_MS, signal: opening.signal };
  const connection = McpConnection.open(httpLink(target), limits);
  return { connection, opening, users: 0, over: false, idle: undefined };
}

async function end({ connection, opening }: Kept): Promise<void> {
  opening.abort();
  try {
    await (await connection).close();
  } catch {
    // It was never established.
  }
}
