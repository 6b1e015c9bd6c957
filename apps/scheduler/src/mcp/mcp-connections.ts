import { sha256Hex } from '@acp/kernel';
import { hasLostSession, isRefusal } from './mcp-failures.ts';
import { McpConnection, type McpLimits } from './mcp-connection.ts';
import { httpLink, type McpTarget } from './mcp-link.ts';

interface Kept {
  connection: Promise<McpConnection>;
  users: number;
  /** Given up: it ends with its last user. */
  over: boolean;
  idle: NodeJS.Timeout | undefined;
}

const MOST = 200;
/** Between two calls of a run; the server's session lives as long. */
const IDLE_MS = 120_000;

/** Conversations that are under way, of one process: one for each server and caller, given up when they rest. */
export class McpConnections {
  /** The longest unused first. */
  readonly #kept = new Map<string, Kept>();

  /** Works on a connection that ends with the work. */
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
   * Works on the caller's connection, which is made where there is none. One that has lost its session since the last
   * call is made anew, once: the server has then refused the request without looking at it.
   * @param who tells callers apart: they share no session
   */
  async use<T>(
    who: string,
    target: McpTarget,
    limits: McpLimits,
    work: (connection: McpConnection) => Promise<T>,
  ): Promise<T> {
    // Another address, or another token, is another conversation.
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
    const kept = this.#take(key, target, limits);
    try {
      const result = await work(await kept.connection);
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

  #take(key: string, target: McpTarget, limits: McpLimits): Kept {
    const known = this.#kept.get(key);
    const kept = known ?? {
      connection: McpConnection.open(httpLink(target), limits),
      users: 0,
      over: false,
      idle: undefined,
    };
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

  /** Ends all of them; work that is under way fails. */
  async close(): Promise<void> {
    const all = [...this.#kept.values()];
    this.#kept.clear();
    for (const { idle } of all) clearTimeout(idle);
    await Promise.all(all.map(end));
  }
}

async function end({ connection }: Kept): Promise<void> {
  try {
    await (await connection).close();
  } catch {
    // It never came to be.
  }
}
