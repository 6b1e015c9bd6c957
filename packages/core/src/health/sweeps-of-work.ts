import { sql } from 'drizzle-orm';
import { sweepUnappliedApprovals } from '../approvals/index.ts';
import { sweepPendingTexts } from '../attachments/index.ts';
import { sweepWaitingChats } from '../chats/index.ts';
import { compileNextDue, sweepCompiles } from '../compiled-index/index.ts';
import { sweepCouncils } from '../councils/index.ts';
import { sweepEvolutions, watchPromotions } from '../evolutions/index.ts';
import { sweepPasswordResets } from '../identity/index.ts';
import { sweepWorkspaceActions } from '../workspaces/index.ts';
import type { Sweep } from './sweep.ts';

/** What other kinds of work wait for. */
export const sweepsOfWork: readonly Sweep[] = [
  {
    name: 'waiting-chats',
    interval_sec: 10,
    waiting: sql`select from chat_messages where status = 'waiting'`,
    work: sweepWaitingChats,
  },
  {
    name: 'councils',
    interval_sec: 10,
    waiting: sql`select from council_sessions where status = 'running'`,
    work: sweepCouncils,
  },
  {
    name: 'evolutions',
    interval_sec: 10,
    waiting: sql`select from prompt_evolutions where status = 'running'`,
    work: sweepEvolutions,
  },
  {
    name: 'promotions',
    interval_sec: 60,
    waiting: sql`select from prompt_evolutions where watch = 'watching'`,
    work: watchPromotions,
  },
  {
    name: 'compiles',
    interval_sec: 10,
    waiting: sql`select from compiled_indexes where status = 'compiling'`,
    work: sweepCompiles,
  },
  {
    name: 'due-compiles',
    interval_sec: 10,
    waiting: sql`select from compile_settings s join companies c on c.id = s.company_id and c.deleted_at is null
      where s.next_at <= now()`,
    work: compileNextDue,
    one_by_one: true,
  },
  {
    name: 'approvals',
    interval_sec: 60,
    waiting: sql`select from approvals where status = 'approved' and applied_at is null and apply_error is null`,
    work: async (tx) => sweepUnappliedApprovals(tx),
  },
  {
    name: 'password-resets',
    interval_sec: 60,
    waiting: sql`select from account_mails where answered_at is null`,
    work: sweepPasswordResets,
  },
  {
    name: 'pending-texts',
    interval_sec: 300,
    waiting: sql`select from attachment_texts where status in ('pending', 'reading')`,
    work: async (tx) => sweepPendingTexts(tx),
  },
  {
    name: 'workspace-actions',
    interval_sec: 60,
    waiting: sql`select from workspace_actions where status in ('queued', 'running')`,
    work: sweepWorkspaceActions,
  },
];
