import { commandCatalogue, jobCatalogue } from '@acp/contract';
import type { CommandCatalogue, CommandTable, JobName } from '@acp/contract';
import type { Static } from 'typebox';
import { createListener, WILDCARD } from '@acp/db';
import type { Database, Listener } from '@acp/db';
import type { Logger } from '@acp/kernel';
import { createBoss } from './boss.ts';
import { Consumer } from './consumer.ts';
import type { ConsumeOptions, JobHandler } from './consumer.ts';
import { kickOf, parseKick, setProducer } from './enqueue.ts';
import { JobPoll } from './job-poll.ts';
import { LeasedCommands } from './leased-commands.ts';
import type { CommandBodies } from './command-bodies.ts';
import { FairCommands } from './fair-commands.ts';
import { type CommandContext, commandEnds } from './run-command.ts';

interface QueueOptions {
  database: Database;
  /** client: only enqueues. consumer: also runs jobs and sweeps the queue's tables. */
  role: 'client' | 'consumer';
  logger?: Logger | undefined;
  /** The process's listener, which kicks the consumers. */
  listener?: Listener | undefined;
  /** Used by a consumer without a listener to open one. */
  direct_url?: string | undefined;
}

export interface Queue {
  /** Starts handling jobs of that name; several calls for one name add up. */
  consume<N extends JobName>(job: N, options: ConsumeOptions, handler: JobHandler<N>): void;
  /** Fetches jobs now, because slots became free elsewhere. */
  kick(job: JobName): void;
  /** Executes the catalogue's awaited commands. @throws if rows and handlers don't match */
  serveCommands(options: ServeCommandsOptions<CommandCatalogue>): void;
  /** The same for another table. */
  serveTable<T extends CommandTable>(table: T, options: ServeCommandsOptions<T>): void;
  /** Call after taking a lease: commands may be waiting for its owner. */
  lookForCommands(): void;
  /** Stops fetching, gives handlers time to finish, then aborts them and releases their jobs. */
  stop(options?: { timeout_ms?: number }): Promise<void>;
}

/**
 * Handlers return JSON as declared by the row. A ServiceError reaches the caller unchanged; any other error becomes a failure
 * without its message.
 */
export type CommandHandlers<T extends CommandTable> = {
  readonly [N in keyof T]: (
    payload: Static<T[N]['payload']>,
    context: CommandContext,
  ) => Promise<Static<T[N]['result']>>;
};

interface ServeCommandsOptions<T extends CommandTable> {
  handlers: CommandHandlers<T>;
  concurrency?: number;
  /** For bodies over 64 KB. */
  bodies?: CommandBodies;
  /** Names of the leases this process currently owns. */
  leases?: () => readonly string[];
}

type Kickable = Pick<Consumer<JobName>, 'job' | 'kick' | 'kickAt' | 'stop'>;

/** Opens the process's queue; `enqueue` works from here on. The tables are created by `migrateQueue`. */
export async function openQueue(options: QueueOptions): Promise<Queue> {
  const { database, role, logger } = options;
  const boss = createBoss(database, role, logger);
  await boss.start();
  setProducer(boss);
  const consumers: Kickable[] = [];
  const ownListener =
    role === 'consumer' && options.listener === undefined && options.direct_url !== undefined
      ? createListener({ url: options.direct_url, logger, application_name: 'queue-listener' })
      : undefined;
  const listener = options.listener ?? ownListener;
  const unsubscribe = role === 'consumer' ? kickOnSignal(listener, consumers) : () => undefined;
  const poll = role === 'consumer' ? new JobPoll({ database, consumers, logger }) : undefined;
  const leased: LeasedCommands[] = [];

  const tell = (job: JobName, moment: number) => database.notifier?.push('jobs', [kickOf(job, moment)]);

  const queue: Queue = {
    consume(job, consumeOptions, handler) {
      if (role === 'client') throw new Error(`a client of the queue consumes nothing: ${job}`);
      const row = jobCatalogue[job];
      const consumer = new Consumer({ boss, job, row, options: consumeOptions, handler, logger, tell });
      consumers.push(consumer);
    },
    kick(job) {
      for (const consumer of consumers) if (consumer.job === job) consumer.kick();
    },
    serveCommands: (serveOptions) => queue.serveTable(commandCatalogue, serveOptions),
    serveTable(table, { handlers, bodies, concurrency = 32, leases }) {
      assertComplete(table, handlers);
      const runner = { database, table, handlers, bodies, logger, ends: commandEnds(database) };
      const commands = new FairCommands(runner);
      queue.consume('run-command', { concurrency }, async (payload, { signal }) =>
        commands.run(payload, signal),
      );
      if (leases && listener) leased.push(new LeasedCommands(runner, listener, leases));
    },
    lookForCommands() {
      for (const each of leased) each.look();
    },
    async stop({ timeout_ms: timeoutMs = 30_000 } = {}) {
      unsubscribe();
      poll?.stop();
      await Promise.all([
        ...consumers.map(async (consumer) => consumer.stop(timeoutMs)),
        ...leased.map(async (each) => each.stop()),
      ]);
      await ownListener?.close();
      await boss.stop({ graceful: false, close: false });
    },
  };
  return queue;
}

function assertComplete(table: CommandTable, handlers: object): void {
  const [rows, handled] = [Object.keys(table).toSorted(), Object.keys(handlers).toSorted()];
  if (rows.join() !== handled.join())
    throw new Error(`commands and handlers disagree: ${rows.join(', ')}; ${handled.join(', ')}`);
}

function kickOnSignal(listener: Listener | undefined, consumers: readonly Kickable[]): () => void {
  if (listener === undefined) throw new Error('a consumer needs a listener or a direct_url');
  const offItems = listener.on('jobs', (items) => {
    for (const { job, at } of items.map(parseKick)) {
      for (const consumer of consumers) {
        if (job !== WILDCARD && job !== consumer.job) continue;
        if (at === undefined) consumer.kick();
        else consumer.kickAt(at);
      }
    }
  });
  const offReconnect = listener.onReconnect(() => {
    for (const consumer of consumers) consumer.kick();
  });
  return () => {
    offItems();
    offReconnect();
  };
}
