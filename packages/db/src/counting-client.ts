import type { Writable } from 'node:stream';
import { Client } from 'pg';
import type { ClientBase, ClientConfig } from 'pg';
import { Batch } from './batch.ts';
import { destroySoon } from './close-connection.ts';
import type { StatementNames } from './statement-names.ts';

type Query = (...args: unknown[]) => unknown;

/**
 * A client that counts statements. Where the session is stable, recurring statements with values are prepared under one of
 * `names`; behind a transaction-mode pooler there are none.
 */
export function countingClient(
  count: () => void,
  { names, connect_timeout_ms }: { names: StatementNames | undefined; connect_timeout_ms: number },
): typeof Client {
  const toSend = <S>(statement: S, values: unknown): S =>
    names ? withName(statement, values, names) : withoutName(statement);
  return class CountingClient extends Client {
    constructor(config?: string | ClientConfig) {
      // The pool's own timeout also covers its queue, which may be longer.
      super(typeof config === 'object' ? { ...config, connectionTimeoutMillis: connect_timeout_ms } : config);
      // pg-pool only listens for errors while a client is idle: a connection that breaks between two statements of a
      // transaction would end the process with an unhandled 'error'. The next statement fails and reports it.
      this.on('error', () => undefined);
      const ask: Query = this.query.bind(this);
      // Queries issued in the same tick share one write: writing is most of what a statement costs this process.
      let together = false;
      const send: Query = (...args) => {
        const { stream } = this.connection as unknown as { stream: Writable };
        if (!together) {
          together = true;
          stream.cork();
          process.nextTick(() => {
            together = false;
            stream.uncork();
          });
        }
        return ask(...args);
      };
      const query: Query = (statement, ...rest) => {
        if (statement instanceof Batch) {
          for (const { setting } of statement.parts) if (!setting) count();
          statement.parts = statement.parts.map((part) => toSend(part, part.values));
          return send(statement);
        }
        count();
        return send(toSend(statement, rest[0]), ...rest);
      };
      const leave: Query = this.end.bind(this);
      const end: Query = (...args) => {
        destroySoon(this);
        return leave(...args);
      };
      Object.assign(this, { query, end });
    }
  };
}

/** Number of statements that the connection holds prepared. */
export function preparedBy(client: ClientBase): number {
  const { connection } = client as unknown as { connection: { parsedStatements: object } };
  return Object.keys(connection.parsedStatements).length;
}

interface Statement {
  text?: unknown;
  name?: unknown;
  values?: unknown;
}

function isStatement(statement: unknown): statement is Statement {
  return typeof statement === 'object' && statement !== null;
}

/** Statements without values open or end transactions, or are several in one: those can't be prepared. Nor can cursors. */
function withName<S>(statement: S, values: unknown, names: StatementNames): S {
  if (!isStatement(statement) || statement.name !== undefined || typeof statement.text !== 'string') {
    return statement;
  }
  if ('submit' in statement) return statement;
  const given = values ?? statement.values;
  if (!Array.isArray(given) || given.length === 0) return statement;
  const name = names.nameOf(statement.text);
  return name === undefined ? statement : { ...statement, name };
}

function withoutName<S>(statement: S): S {
  return isStatement(statement) && statement.name !== undefined
    ? { ...statement, name: undefined }
    : statement;
}
