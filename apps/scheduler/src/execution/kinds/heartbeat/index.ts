import { HEARTBEAT, type KnowledgeQuery, type PromptFacts, promptFacts, taskPayload } from '@acp/core';
import { executionKind, MAX_TURNS } from '../execution-kind.ts';
import { buildPrompt } from './prompt.ts';

// Limit in characters: enough to show what the issue is about.
const BODY = 1500;
const COMMENT = 400;

/** Describes the issue by its title, latest comment and text. */
function questionOf({ issue, has_knowledge }: PromptFacts): KnowledgeQuery | null {
  if (issue === null || !has_knowledge) return null;
  const said = issue.comments.at(-1)?.body_markdown.slice(0, COMMENT) ?? '';
  const question = [issue.title, said, issue.body_markdown?.slice(0, BODY) ?? ''].join('\n');
  return { question, except_issue_id: issue.id };
}

/** An agent wakes up and works on its issue, or on none in particular. */
export const heartbeat = executionKind({
  name: HEARTBEAT,
  // A file and the wakeup of its comment are often seconds apart.
  ready: ({ issue }) => issue?.texts_awaited !== true,
  facts: promptFacts,
  question: questionOf,
  index: ({ has_index }) => has_index,
  prompt: buildPrompt,
  payload: taskPayload,
  verbs: () => true,
  max_turns: MAX_TURNS,
  sessions: true,
  awaited: false,
});
