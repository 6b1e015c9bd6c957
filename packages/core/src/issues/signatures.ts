import type {
  Actor,
  CreateIssue,
  Issue,
  IssueDetail,
  IssueSummary,
  Label,
  ListIssues,
  Relation,
  RelationType,
  UpdateIssue,
} from '@acp/contract';
import type { Tx } from '@acp/db';
import type { IssueRow, LabelRow, RelationRow } from './rows.ts';

export declare function createIssue(
  tx: Tx,
  actor: Actor,
  companyId: string,
  input: CreateIssue,
  origin?: { kind: string; id: string | null },
): Promise<Issue>;
export declare function listIssues(
  tx: Tx,
  companyId: string,
  query: ListIssues,
): Promise<{ items: Issue[]; next_cursor: string | null }>;
export declare function issueDetail(tx: Tx, issue: IssueRow): Promise<IssueDetail>;
export declare function updateIssue(
  tx: Tx,
  actor: Actor,
  issue: IssueRow,
  patch: UpdateIssue,
): Promise<Issue>;
export declare function deleteIssue(tx: Tx, actor: Actor, issue: IssueRow): Promise<void>;
export declare function checkoutIssue(tx: Tx, actor: Actor, issue: IssueRow): Promise<Issue>;
export declare function releaseIssue(tx: Tx, actor: Actor, issue: IssueRow): Promise<Issue>;
/** Frees every checkout of an agent that was trashed, terminated or deleted; records activity and events. */
export declare function releaseHeldBy(tx: Tx, actor: Actor, agentId: string): Promise<number>;
/** What a dispatch of the agent may work on, most urgent first: nothing held by others, nothing that waits for a human. */
export declare function actionableIssues(tx: Tx, agentId: string, limit: number): Promise<IssueRow[]>;
/** Open issues assigned to the agent, for its inbox. */
export declare function openIssuesOf(tx: Tx, agentId: string, limit: number): Promise<IssueSummary[]>;
/** `/needs-routing`; the caller posts the text as a comment. */
export declare function setNeedsRouting(tx: Tx, actor: Actor, issue: IssueRow): Promise<Issue>;
/** `/await-input`: blocked until a human answers; the caller posts the question as a comment. */
export declare function awaitInput(
  tx: Tx,
  actor: Actor,
  issue: IssueRow,
  question: string | null,
): Promise<Issue>;
export declare function listLabels(tx: Tx, companyId: string): Promise<Label[]>;
export declare function createLabel(
  tx: Tx,
  actor: Actor,
  companyId: string,
  input: { name: string; color?: string | null },
): Promise<Label>;
export declare function deleteLabel(tx: Tx, actor: Actor, companyId: string, labelId: string): Promise<void>;
export declare function findLabel(tx: Tx, id: string): Promise<LabelRow | undefined>;
export declare function addLabel(tx: Tx, actor: Actor, issue: IssueRow, labelId: string): Promise<Label[]>;
export declare function removeLabel(tx: Tx, actor: Actor, issue: IssueRow, labelId: string): Promise<void>;
export declare function listRelations(tx: Tx, issue: IssueRow): Promise<Relation[]>;
export declare function createRelation(
  tx: Tx,
  actor: Actor,
  issue: IssueRow,
  input: { target_issue_id: string; relation_type?: RelationType },
): Promise<Relation>;
export declare function findRelation(tx: Tx, id: string): Promise<RelationRow | undefined>;
export declare function deleteRelation(tx: Tx, actor: Actor, relation: RelationRow): Promise<void>;
/** The issue and all below it that count as absent with it: what `settle-issue` goes through after a deletion. */
export declare function issueAndDescendants(tx: Tx, issueId: string): Promise<string[]>;
