import { type PromptIssue, withinBounds } from '@acp/core';
import { inline, quoted } from '@acp/adapters';
import type { PromptReader } from '../execution-kind.ts';
import { PromptFiles } from '../prompt-files.ts';

/** In characters. Together with the query's limits they bound the prompt, however large the issue is. */
const BODY_LIMIT = 20_000;
const COMMENT_LIMIT = 4000;
const COMMENTS_LIMIT = 60_000;
const REFERENCES_LIMIT = 50;

type Reference = PromptIssue['children'][number];

/** Limit for the texts of inherited files. */
const PARENT_FILES = 20_000;

/** The files that `renderIssue` shows. The issue's own come last, since the end of the list takes precedence. */
export function filesOf(issue: PromptIssue, reader: PromptReader | 'answer'): PromptFiles {
  const { attachments, parent_attachments: inherited } = issue;
  const files = [...withinBounds(inherited, PARENT_FILES), ...withinBounds(attachments)];
  return new PromptFiles(files, reader, true);
}

/** The issue as agents read it: in the prompt and in the answer to `/get-issue`. */
export function renderIssue(issue: PromptIssue, files = filesOf(issue, 'answer')): string {
  const facts = [
    `Status: ${issue.status}`,
    `Priority: ${issue.priority}`,
    `Assignee: ${issue.assignee_name === null ? 'nobody' : inline(issue.assignee_name)}`,
    ...(issue.labels.length > 0
      ? [`Labels: ${issue.labels.map((label) => inline(label, 100)).join(', ')}`]
      : []),
    ...(issue.awaiting_input ? ['It waits for the input of a human.'] : []),
    ...(issue.from_client
      ? [
          'A client outside of the company sent it: it reads what agents write here and gets their reports and files, and it answers what you ask with /await-input. Set the status to done with your answer.',
        ]
      : []),
    ...(issue.needs_routing ? ['It needs routing to a better agent.'] : []),
  ];
  const parts = [
    `${issue.identifier}: ${inline(issue.title)}\n${facts.join('\n')}`,
    issue.body_markdown?.trim()
      ? quoted('issue_body', issue.body_markdown, BODY_LIMIT)
      : 'It has no description.',
    issue.parent === null ? '' : `Parent: ${renderReference(issue.parent)}`,
    renderList('Children', issue.children),
    renderRelations(issue.relations),
    renderInherited(issue, files),
    renderAttachments(issue, files),
    renderComments(issue),
  ];
  return parts.filter((part) => part !== '').join('\n\n');
}

function renderReference(issue: Reference): string {
  const assignee = issue.assignee_name === null ? '' : `, assigned to ${inline(issue.assignee_name, 100)}`;
  return `${issue.identifier} [${issue.status}${assignee}] ${inline(issue.title, 200)}`;
}

function renderList(title: string, issues: readonly Reference[]): string {
  if (issues.length === 0) return '';
  const lines = issues.slice(0, REFERENCES_LIMIT).map((issue) => `- ${renderReference(issue)}`);
  return `${title}:\n${lines.join('\n')}${leftOut(issues.length - lines.length)}`;
}

const relationWords = {
  blocks: 'blocks',
  blocked_by: 'is blocked by',
  depends_on: 'depends on',
  dependency_of: 'is a dependency of',
  relates_to: 'relates to',
} as const;

function renderRelations(relations: PromptIssue['relations']): string {
  if (relations.length === 0) return '';
  const lines = relations
    .slice(0, REFERENCES_LIMIT)
    .map((each) => `- it ${relationWords[each.relation]} ${renderReference(each)}`);
  return `Relations:\n${lines.join('\n')}${leftOut(relations.length - lines.length)}`;
}

/** Shows the newest that fit, with a note of how many were left out. */
function renderComments(issue: PromptIssue): string {
  if (issue.comments.length === 0) return '';
  const shown: string[] = [];
  let size = 0;
  for (const { author_name: author, body_markdown: body, created_at: at } of issue.comments.toReversed()) {
    const comment = quoted('comment', body, COMMENT_LIMIT, { author, at });
    size += comment.length;
    if (size > COMMENTS_LIMIT && shown.length > 0) break;
    shown.unshift(comment);
  }
  const earlier = Math.max(issue.comment_count, issue.comments.length) - shown.length;
  const notice = earlier > 0 ? ` (${earlier} earlier ones are left out)` : '';
  return `Comments, oldest first${notice}:\n${shown.join('\n')}`;
}

function renderInherited({ parent_attachments: inherited }: PromptIssue, files: PromptFiles): string {
  if (inherited.length === 0) return '';
  return `Files of the issue that it belongs to, oldest first:\n${files.told(inherited).join('\n')}`;
}

/** Lists each by name, with the beginning of its text if it has one. */
function renderAttachments({ attachments, attachment_count }: PromptIssue, files: PromptFiles): string {
  if (attachments.length === 0) return '';
  const earlier = Math.max(attachment_count - attachments.length, 0);
  const notice = earlier > 0 ? ` (${earlier} earlier ones are left out)` : '';
  return `Attached files, oldest first${notice}:\n${files.told(attachments).join('\n')}`;
}

export function leftOut(count: number): string {
  return count > 0 ? `\n- … and ${count} more` : '';
}
