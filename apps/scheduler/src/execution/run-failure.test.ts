import { expect, it } from '@jest/globals';
import { unavailable } from '@acp/kernel';
import { failureOf } from './run-failure.ts';

it.each([
  ['storage unavailable', unavailable('storage unavailable', new Error('the store did not respond in time'))],
  ['database unavailable', Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })],
  ['database busy', Object.assign(new Error('deadlock detected'), { code: '40P01' })],
])('a run lost to trouble says whose it was: %s', (said, error) => {
  expect(failureOf(error)).toMatchObject({ category: 'lost', message: `run lost: ${said}`, cause: error });
});

it('what a command itself calls unavailable loses no run', () => {
  expect(failureOf(unavailable('no scheduler answered'))).toMatchObject({ category: 'internal' });
});
