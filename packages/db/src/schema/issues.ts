import { sql } from 'drizzle-orm';
import {
  boolean,
  customType,
  index,
  integer,
  pgTable,
  primaryKey,
  text,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core';
import { createdAt, deletedAt, id, instant, updatedAt } from './columns.ts';
import { companies } from './companies.ts';
import { actionableIssueStatuses, terminalIssueStatuses } from '../status-lists.ts';
import { priorityWeight, titleOrder } from '../issue-orders.ts';

const tsvector = customType<{ data: string }>({ dataType: () => 'tsvector' });

export const issues = pgTable(
  'issues',
  {
    id: id(),
    company_id: uuid()
      .notNull()
      .references(() => companies.id, { onDelete: 'cascade' }),
    project_id: uuid(),
    goal_id: uuid(),
    parent_issue_id: uuid(),
    title: text().notNull(),
    body_markdown: text(),
    status: text().notNull().default('backlog'),
    priority: text().notNull().default('medium'),
    assignee_agent_id: uuid(),
    /** Each run sets and clears it. No index contains it, so that those updates write to none (HOT). */
    checked_out_by_agent_id: uuid(),
    checked_out_at: instant(),
    /** The run that took the checkout; null if the agent took it by itself. */
    checkout_run_id: uuid(),
    /** The agent, if it took the checkout by itself; kept until the issue is free again. */
    self_checkout_agent_id: uuid(),
    origin_kind: text().notNull().default('manual'),
    origin_id: text(),
    identifier: text().notNull(),
    issue_number: integer().notNull(),
    awaiting_input: boolean().notNull().default(false),
    needs_routing: boolean().notNull().default(false),
    needs_human_attention: boolean().notNull().default(false),
    /** The last run on it failed, and nothing follows by itself; the next run clears it. */
    run_failed: boolean().notNull().default(false),
    blocked_at: instant(),
    blocked_reason: text(),
    blocked_by_agent_id: uuid(),
    /** Consecutive runs that ended without a change to the issue: the loop breaker's counter (decisions 8.2). */
    stalled_runs: integer().notNull().default(0),
    created_by_agent_id: uuid(),
    created_by_user_id: uuid(),
    created_at: createdAt(),
    updated_at: updatedAt(),
    deleted_at: deletedAt(),
  },
  (t) => [
    uniqueIndex('issues_company_number').on(t.company_id, t.issue_number),
    index('issues_company')
      .on(t.company_id, t.created_at.desc(), t.id.desc())
      .where(sql`${t.deleted_at} is null`),
    index('issues_company_status')
      .on(t.company_id, t.status, t.created_at.desc(), t.id.desc())
      .where(sql`${t.deleted_at} is null`),
    // A column of the board, most recently changed first.
    index('issues_company_column')
      .on(t.company_id, t.status, t.updated_at.desc(), t.id.desc())
      .where(sql`${t.deleted_at} is null`),
    index('issues_company_assignee')
      .on(t.company_id, t.assignee_agent_id, t.created_at.desc(), t.id.desc())
      .where(sql`${t.deleted_at} is null`),
    index('issues_company_project')
      .on(t.company_id, t.project_id, t.created_at.desc(), t.id.desc())
      .where(sql`${t.deleted_at} is null`),
    // Most issues have no goal of their own.
    index('issues_goal')
      .on(t.goal_id, t.created_at.desc(), t.id.desc())
      .where(sql`${t.goal_id} is not null`),
    index('issues_company_priority')
      .on(t.company_id, sql`${priorityWeight(t.priority)} desc nulls last`, t.created_at.desc(), t.id.desc())
      .where(sql`${t.deleted_at} is null`),
    index('issues_company_title')
      .on(t.company_id, sql`${titleOrder(t.title)} desc nulls last`, t.id.desc())
      .where(sql`${t.deleted_at} is null`),
    // A reader's inbox: most recently changed first.
    index('issues_company_updated')
      .on(t.company_id, t.updated_at.desc(), t.id.desc())
      .where(sql`${t.deleted_at} is null`),
    // Those that wait for a person: core's `waitsForPerson`.
    index('issues_company_asking')
      .on(t.company_id, t.updated_at.desc(), t.id.desc())
      .where(
        sql`${t.deleted_at} is null and (${t.awaiting_input} or ${t.needs_human_attention} or (${t.run_failed} and ${t.status} not in ${terminalIssueStatuses}))`,
      ),
    index('issues_assignee_actionable')
      .on(t.assignee_agent_id, t.created_at)
      .where(sql`${t.deleted_at} is null and ${t.status} in ${actionableIssueStatuses}`),
    index('issues_parent')
      .on(t.parent_issue_id)
      .where(sql`${t.parent_issue_id} is not null`),
    index('issues_self_checkout')
      .on(t.self_checkout_agent_id)
      .where(sql`${t.self_checkout_agent_id} is not null`),
    // Open issues of routines, queried by the concurrency policy.
    index('issues_routine_open')
      .on(t.company_id)
      .where(
        sql`${t.deleted_at} is null and ${t.origin_kind} = 'routine' and ${t.status} not in ${terminalIssueStatuses}`,
      ),
    // Tasks of an agent's external clients, most recently changed first.
    index('issues_a2a')
      .on(t.origin_id, t.updated_at.desc(), t.id.desc())
      .where(sql`${t.deleted_at} is null and ${t.origin_kind} = 'a2a'`),
    index('issues_search').using('gin', t.company_id, sql`${t.title} gin_trgm_ops`),
  ],
);

/**
 * The words of descriptions. In a table of their own, because an update of an issue writes to all of its indexes: changing a status
 * would split the text anew. Triggers on issues write the rows, by whichever path a description changes.
 */
export const issue_words = pgTable(
  'issue_words',
  {
    /** No foreign key, whose check would cost each new issue as much as its words: a trigger deletes the row. */
    issue_id: uuid().primaryKey(),
    company_id: uuid().notNull(),
    words: tsvector().notNull(),
  },
  (t) => [index('issue_words_text').using('gin', t.company_id, t.words)],
);

export const labels = pgTable(
  'labels',
  {
    id: id(),
    company_id: uuid()
      .notNull()
      .references(() => companies.id, { onDelete: 'cascade' }),
    name: text().notNull(),
    color: text(),
    created_at: createdAt(),
  },
  (t) => [
    uniqueIndex('labels_company_name').on(t.company_id, sql`lower(${t.name})`),
    index('labels_company').on(t.company_id, t.created_at.desc(), t.id.desc()),
  ],
);

export const issue_labels = pgTable(
  'issue_labels',
  {
    issue_id: uuid()
      .notNull()
      .references(() => issues.id, { onDelete: 'cascade' }),
    label_id: uuid()
      .notNull()
      .references(() => labels.id, { onDelete: 'cascade' }),
  },
  (t) => [primaryKey({ columns: [t.issue_id, t.label_id] }), index('issue_labels_label').on(t.label_id)],
);

export const issue_relations = pgTable(
  'issue_relations',
  {
    id: id(),
    company_id: uuid().notNull(),
    source_issue_id: uuid()
      .notNull()
      .references(() => issues.id, { onDelete: 'cascade' }),
    target_issue_id: uuid()
      .notNull()
      .references(() => issues.id, { onDelete: 'cascade' }),
    relation_type: text().notNull(),
    created_by_agent_id: uuid(),
    created_by_user_id: uuid(),
    created_at: createdAt(),
  },
  (t) => [
    uniqueIndex('issue_relations_unique').on(t.source_issue_id, t.target_issue_id, t.relation_type),
    index('issue_relations_target').on(t.target_issue_id),
  ],
);

/** Up to when a reader (user, or board-user key) has read all that happened in a company; `issue_reads` has what differs. */
export const read_marks = pgTable(
  'read_marks',
  {
    reader_id: uuid().notNull(),
    company_id: uuid()
      .notNull()
      .references(() => companies.id, { onDelete: 'cascade' }),
    /** Null: each issue counts by its own row. */
    read_to: instant(),
  },
  (t) => [primaryKey({ columns: [t.reader_id, t.company_id] })],
);

/** What the reader has read, put off or marked as unread beside the mark: anything later than `read_at` is unread. */
export const issue_reads = pgTable(
  'issue_reads',
  {
    reader_id: uuid().notNull(),
    issue_id: uuid()
      .notNull()
      .references(() => issues.id, { onDelete: 'cascade' }),
    /** 1970 if marked as unread. */
    read_at: createdAt(),
    /**
     * Hidden from the inbox until then, unless something happens to the issue; then it is unread again. While it is after `read_at`,
     * the mark does not cover the issue.
     */
    snoozed_until: instant(),
  },
  (t) => [
    primaryKey({ columns: [t.reader_id, t.issue_id] }),
    index('issue_reads_issue').on(t.issue_id),
    index('issue_reads_snoozed')
      .on(t.reader_id, t.snoozed_until)
      .where(sql`${t.snoozed_until} is not null`),
  ],
);
