/** An agent that others may call, its work on tasks, and clients of both protocol generations. */
import { ClientFactory as Factory1, JsonRpcTransportFactory as Rpc1 } from '@a2a-js/sdk/client';
import { DefaultAgentCardResolver as Resolver1 } from '@a2a-js/sdk/client';
import {
  ClientFactory as Factory0,
  DefaultAgentCardResolver as Resolver0,
  JsonRpcTransportFactory as Rpc0,
} from 'a2a-sdk-0.3/client';
import {
  awaitInput,
  createAttachments,
  createComment,
  createWorkProduct,
  findAgent,
  findIssue,
  type IssueRow,
  reserveStorageKeys,
  updateIssue,
} from '@acp/core';
import { type Database, transaction, type Tx } from '@acp/db';
import { newId } from '@acp/kernel';
import { actors } from '@acp/testkit';
import type { AgentActor } from '@acp/contract';
import { sql } from 'drizzle-orm';

/** The service's advertised address; the tests' clients are redirected to the server. */
export const PUBLIC_URL = 'https://agents.example';

export function fetchAs(server_url: string, headers: Record<string, string>): typeof fetch {
  return async (input, init) => {
    const url = (input instanceof Request ? input.url : String(input)).replace(PUBLIC_URL, server_url);
    return fetch(url, {
      ...init,
      headers: { ...Object.fromEntries(new Headers(init?.headers)), ...headers },
    });
  };
}

/** Clients discover the agent through its card. */
export async function clientsOf(fetchImpl: typeof fetch, card_path: string) {
  const url = [PUBLIC_URL, card_path] as const;
  const native = new Factory1({
    transports: [new Rpc1({ fetchImpl })],
    cardResolver: new Resolver1({ fetchImpl }),
  });
  const former = new Factory0({
    transports: [new Rpc0({ fetchImpl })],
    cardResolver: new Resolver0({ fetchImpl }),
  });
  return {
    v1: await native.createFromUrl(...url),
    v0: await former.createFromUrl(...url),
  };
}

/** The agent working on a task. */
export class AtWork {
  readonly #database: Database;
  readonly #agent_id: string;

  constructor(database: Database, agent_id: string) {
    this.#database = database;
    this.#agent_id = agent_id;
  }

  async say(task_id: string, body_markdown: string): Promise<void> {
    await this.#act(task_id, async (tx, actor, issue) => createComment(tx, actor, issue, { body_markdown }));
  }

  async ask(task_id: string, question: string): Promise<void> {
    await this.#act(task_id, async (tx, actor, issue) => {
      await awaitInput(tx, actor, issue, question);
      await createComment(tx, actor, issue, { body_markdown: question });
    });
  }

  async finish(task_id: string, body_markdown: string): Promise<void> {
    await this.#act(task_id, async (tx, actor, issue) => {
      await createComment(tx, actor, issue, { body_markdown });
      await updateIssue(tx, actor, issue, { status: 'done' });
    });
  }

  async setDone(task_id: string): Promise<void> {
    await this.#act(task_id, async (tx, actor, issue) => updateIssue(tx, actor, issue, { status: 'done' }));
  }

  /** At once, as at the end of a run. */
  async endRun(run_id: string, task_id: string, body_markdown: string): Promise<void> {
    await this.#act(task_id, async (tx, actor, issue) => {
      await tx.execute(sql`update heartbeat_runs set status = 'succeeded' where id = ${run_id}`);
      await createComment(tx, actor, issue, { body_markdown });
    });
  }

  async report(task_id: string, title: string, summary: string): Promise<void> {
    await this.#act(task_id, async (tx, actor, issue) =>
      createWorkProduct(tx, actor, issue, { title, type: 'report', summary }),
    );
  }

  async attach(task_id: string, filename: string): Promise<void> {
    const storage_key = `attachments/test/${newId()}`;
    await reserveStorageKeys(this.#database.db, [storage_key]);
    const file = { filename, content_type: 'text/csv', size_bytes: 3, sha256: '', storage_key };
    await this.#act(task_id, async (tx, actor, issue) => createAttachments(tx, actor, issue, [file]));
  }

  async #act(task_id: string, work: (tx: Tx, actor: AgentActor, issue: IssueRow) => Promise<unknown>) {
    await transaction(this.#database, async (tx) => {
      const agent = await findAgent(tx, this.#agent_id);
      const issue = await findIssue(tx, task_id);
      await work(tx, actors.agent(agent!, { run_id: null }), issue!);
    });
  }
}
