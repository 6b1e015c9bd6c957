import { createHash, randomBytes } from 'node:crypto';
import type { AgentActor, BoardUserActor, CompanyRole, SystemActor, UserActor } from '@acp/contract';
import { takeIssueNumbers } from '@acp/core';
import { schema } from '@acp/db';
import type { Tx } from '@acp/db';
import { newApiKey, newId, newToken, sha256Hex } from '@acp/kernel';
import { sql } from 'drizzle-orm';

const {
  agent_api_keys,
  agent_runtime_states,
  agents,
  board_user_keys,
  companies,
  issues,
  memberships,
  sessions,
  users,
} = schema;

type Values<T extends { $inferInsert: object }> = Partial<T['$inferInsert']>;
type UserRow = typeof users.$inferSelect;
type CompanyRow = typeof companies.$inferSelect;
type AgentRow = typeof agents.$inferSelect;
type IssueRow = typeof issues.$inferSelect;

// Creates rows by plain inserts: no rules of the service are applied, and no activity, event or job is written.

const unique = () => randomBytes(5).toString('hex');

export async function createUser(tx: Tx, values: Values<typeof users> = {}): Promise<UserRow> {
  const [row] = await tx
    .insert(users)
    .values({ email: `${unique()}@example.com`, display_name: 'A User', ...values })
    .returning();
  return row!;
}

export async function createCompany(tx: Tx, values: Values<typeof companies> = {}): Promise<CompanyRow> {
  const slug = values.slug ?? `company-${unique()}`;
  const identifier_prefix = slug.replaceAll('-', '').slice(0, 3).toUpperCase();
  const [row] = await tx
    .insert(companies)
    .values({ name: 'A Company', slug, identifier_prefix, ...values })
    .returning();
  return row!;
}

export async function createMembership(
  tx: Tx,
  company: { id: string },
  user: { id: string },
  role: CompanyRole = 'member',
): Promise<void> {
  await tx.insert(memberships).values({ company_id: company.id, user_id: user.id, role });
}

/** Whoever has signed in, for an hour. */
export async function createSession(tx: Tx, user: { id: string }): Promise<{ id: string }> {
  const [row] = await tx
    .insert(sessions)
    .values({
      token_hash: sha256Hex(newToken()),
      user_id: user.id,
      expires_at: new Date(Date.now() + 3_600_000),
    })
    .returning({ id: sessions.id });
  return row!;
}

/** Creates the agent together with its runtime state, which every agent has. */
export async function createAgent(
  tx: Tx,
  company: { id: string },
  values: Values<typeof agents> = {},
): Promise<AgentRow> {
  const [row] = await tx
    .insert(agents)
    .values({
      company_id: company.id,
      name: `Agent ${unique()}`,
      role: 'engineer',
      adapter_type: 'llm',
      heartbeat_enabled: false,
      heartbeat_interval_sec: 300,
      ...values,
    })
    .returning();
  await tx.insert(agent_runtime_states).values({ agent_id: row!.id });
  return row!;
}

/** @returns the key in plain text, as its bearer knows it, and its id */
export async function createKeyOf(
  tx: Tx,
  agent: { id: string; company_id: string },
  values: Values<typeof agent_api_keys> = {},
): Promise<{ id: string; raw_key: string; key_hash: string }> {
  const raw_key = newApiKey();
  const key_hash = createHash('sha256').update(raw_key).digest('hex');
  const [row] = await tx
    .insert(agent_api_keys)
    .values({
      company_id: agent.company_id,
      agent_id: agent.id,
      key_hash,
      key_prefix: raw_key.slice(0, 8),
      ...values,
    })
    .returning({ id: agent_api_keys.id });
  return { id: row!.id, raw_key, key_hash };
}

/** An integration with a key in the database, as it takes to create other credentials. */
export async function createIntegration(
  tx: Tx,
  company: { id: string },
  role: CompanyRole = 'member',
  values: Values<typeof board_user_keys> = {},
): Promise<BoardUserActor> {
  const key_hash = createHash('sha256').update(newApiKey()).digest('hex');
  const [row] = await tx
    .insert(board_user_keys)
    .values({ company_id: company.id, role, key_hash, key_prefix: 'sk_tests', ...values })
    .returning({ id: board_user_keys.id });
  return { ...actors.board(company, role), key_id: row!.id };
}

/** Assigns the company's next issue number. */
export async function createIssue(
  tx: Tx,
  company: { id: string },
  values: Values<typeof issues> = {},
): Promise<IssueRow> {
  const taken = await takeIssueNumbers(tx, company.id, 1);
  const { rows } = await tx.execute<{ prefix: string; next: number }>(sql`
    select identifier_prefix as prefix,
      (select coalesce(max(issue_number), 0) + 1 from issues where company_id = ${company.id})::int as next
    from companies where id = ${company.id}`);
  const { prefix, next } = rows[0]!;
  // A company in the trash no longer assigns numbers.
  const number = taken ?? next;
  const [row] = await tx
    .insert(issues)
    .values({
      company_id: company.id,
      title: `Issue ${number}`,
      status: 'todo',
      issue_number: number,
      identifier: `${prefix}-${number}`,
      ...values,
    })
    .returning();
  return row!;
}

/** Actors as the web tier would have resolved them. */
export const actors = {
  user(user: { id: string; display_name: string }, roles: Record<string, CompanyRole> = {}): UserActor {
    return {
      kind: 'user',
      user_id: user.id,
      name: user.display_name,
      instance_role: 'member',
      session_id: null,
      roles,
    };
  },

  instanceAdmin(user: { id: string; display_name: string }): UserActor {
    return { ...actors.user(user), instance_role: 'admin' };
  },

  agent(
    agent: { id: string; company_id: string; name: string; permissions: Record<string, boolean> },
    changes: Partial<AgentActor> = {},
  ): AgentActor {
    return {
      kind: 'agent',
      agent_id: agent.id,
      company_id: agent.company_id,
      name: agent.name,
      key_id: null,
      permissions: agent.permissions,
      run_id: null,
      depth: 0,
      ...changes,
    };
  },

  /** A board-user key: an integration that counts as a human. */
  board(company: { id: string }, role: CompanyRole = 'member'): BoardUserActor {
    return { kind: 'board_user', key_id: newId(), company_id: company.id, role, name: 'integration' };
  },

  system: { kind: 'system', name: 'test' } as SystemActor,
};
