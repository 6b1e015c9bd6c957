import { describe, expect, it } from '@jest/globals';
import { endpoints } from './index.ts';

describe('rows that answer a list', () => {
  it('are paged, but for what is one whole: the flags, one’s own sessions, the tree, and transcripts, which count by seq', () => {
    const whole = endpoints.filter(
      ({ method, response, paged }) =>
        method === 'GET' &&
        response !== null &&
        'type' in response &&
        response.type === 'array' &&
        paged !== true,
    );
    expect(whole.map(({ id }) => id)).toEqual([
      'settings.list-flags',
      'sessions.list',
      'agents.org-tree',
      'runs.events',
      'runs.events-alias',
    ]);
  });
});
