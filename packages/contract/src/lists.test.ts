import { describe, expect, it } from '@jest/globals';
import type { TSchema } from 'typebox';
import { endpoints } from './index.ts';

const nameFields = new Set(['name', 'title', 'label', 'display_name', 'slug', 'key_prefix']);

function fieldsOf(schema: unknown): string[] {
  return Object.keys((schema as { properties?: object } | null | undefined)?.properties ?? {});
}

/** What a list has: the list is the answer itself or its only field. */
function itemOf(response: TSchema | null): unknown {
  const { items, properties } = (response ?? {}) as { items?: unknown; properties?: Record<string, TSchema> };
  return items ?? Object.values(properties ?? {}).map((field) => (field as { items?: unknown }).items)[0];
}

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

  it('of things with a name take `q`, but for what belongs to a single thing, and for lists that have a filter of their own', () => {
    const named = endpoints.filter(
      ({ paged, response, query }) =>
        paged === true &&
        fieldsOf(itemOf(response)).some((field) => nameFields.has(field)) &&
        !fieldsOf(query).includes('q'),
    );
    expect(named.map(({ id }) => id)).toEqual([
      'identity.list-instance-roles',
      'agents.direct-reports',
      'agent-files.list-skills',
      'labels.list',
      'documents.list',
      'documents.revisions',
      'work-products.list',
      'routines.list-triggers',
      'peers.list-delegations',
      'credentials.of-member',
      'credentials.of-user',
      'views.list',
    ]);
  });
});
