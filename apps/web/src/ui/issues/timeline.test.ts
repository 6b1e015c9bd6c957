import { expect, it } from '@jest/globals';
import { sentence } from './timeline.ts';

const status = (from: string, to: string) => ({ changes: { status: { from, to } } });

it.each([
  [
    'issue.awaiting_input',
    status('in_progress', 'blocked'),
    'asked for input, changed status from in progress to blocked',
  ],
  ['issue.awaiting_input', status('blocked', 'blocked'), 'asked for input'],
  ['issue.updated', status('todo', 'in_review'), 'changed status from todo to in review'],
  [
    'comment.created',
    status('blocked', 'in_progress'),
    'commented, changed status from blocked to in progress',
  ],
  ['skill.created', {}, 'created a skill'],
])('%s with %j reads as a sentence', (action, details, said) => {
  expect(sentence({ action, details })).toBe(said);
});
