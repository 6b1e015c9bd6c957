import { describe, expect, it } from '@jest/globals';
import { endpoints } from './index.ts';

describe('rows that answer a list', () => {
  it('are paged, but for what is one whole: the best matches, figures, the flags, one’s own sessions and channels, the trees, transcripts, which count by seq, what plugins and MCP servers have, and what one process remembers', () => {
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
      'knowledge.search',
      'runs.events',
      'runs.events-alias',
      'subagents.of-agent',
      'subagents.of-issue',
      'plugins.list-tools',
      'plugins.list-own-tools',
      'plugins.list-events',
      'plugins.list-jobs',
      'plugins.list-webhooks',
      'mcp-servers.list-commands',
      'mcp-servers.list-tools',
      'channels.list-mine',
      'portability.list-templates',
      'search.find',
      'figures.days',
      'figures.agents',
      'alerts.recent',
    ]);
  });
});
