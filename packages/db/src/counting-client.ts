import { Client } from 'pg';
import type { ClientConfig } from 'pg';

type Query = (...args: unknown[]) => unknown;

/** A client that counts what is sent, and drops the names of statements where no session can be relied upon. */
export function countingClient(count: () => void, keepNames: boolean): typeof Client {
  return class CountingClient extends Client {
    constructor(config?: string | ClientConfig) {
      super(config);
      // pg-pool listens only while a client is idle: a connection that breaks between two statements of a
      // transaction would end the process by an unhandled 'error'. The next statement fails and says so.
      this.on('error', () => undefined);
      const send: Query = this.query.bind(this);
      const query: Query = (statement, ...rest) => {
        count();
        return send(keepNames ? statement : withoutName(statement), ...rest);
      };
      Object.assign(this, { query });
    }
  };
}

function withoutName(statement: unknown): unknown {
  const named =
    typeof statement === 'object' &&
    statement !== null &&
    'name' in statement &&
    statement.name !== undefined;
  return named ? { ...statement, name: undefined } : statement;
}
