import { describe, expect, it } from '@jest/globals';
import { actionableStatuses, terminalStatuses } from '@acp/contract';
import { actionableIssueStatuses, terminalIssueStatuses, wakeableAgentStatuses } from '@acp/db';
import { type SQL, sql } from 'drizzle-orm';
import { PgDialect } from 'drizzle-orm/pg-core';
import { wakeableStatuses } from './agents/status.ts';

const dialect = new PgDialect();

describe('a status list', () => {
  it.each<[string, readonly string[], SQL]>([
    ['of issues that are over', terminalStatuses, terminalIssueStatuses],
    ['of issues to work on', actionableStatuses, actionableIssueStatuses],
    ['of agents that may be woken', wakeableStatuses, wakeableAgentStatuses],
  ])('%s is the same in SQL as in code', (_, statuses, list) => {
    const { sql: text } = dialect.sqlToQuery(sql`status in ${list}`);
    expect(text).toBe(`status in (${statuses.map((status) => `'${status}'`).join(', ')})`);
  });
});
