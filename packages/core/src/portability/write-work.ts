import type { Actor } from '@acp/contract';
import type { Tx } from '@acp/db';
import { newId } from '@acp/kernel';
import { insertComments } from '../comments/index.ts';
import { insertDocuments } from '../documents/index.ts';
import { insertIssueLabels, insertIssues, insertRelations } from '../issues/index.ts';
import { insertNotes } from '../notes/index.ts';
import * as rows from './bundle-rows.ts';
import type { Written } from './write-lists.ts';

/** Issues with what lies on them, and notes, which may lie there too. */
export async function writeWork(tx: Tx, actor: Actor, written: Written): Promise<void> {
  const { bundle, ids, company, now } = written;
  const { id: company_id } = company;
  await insertIssues(tx, actor, company_id, rows.issueRows(bundle, ids, now));
  await insertIssueLabels(tx, rows.issueLabelRows(ids));
  await insertRelations(tx, actor, company_id, rows.relationRows(ids));
  // Comments of one instant are told in the order of their ids.
  const inOrder = (count: number) => Array.from({ length: count }, () => newId()).toSorted();
  await insertComments(tx, company_id, rows.commentRows(ids, now, inOrder));
  await insertDocuments(tx, actor, company_id, rows.documentRows(ids));
  await insertNotes(tx, actor, company_id, rows.noteRows(ids, now));
}
