import { describe, expect, it } from '@jest/globals';
import { RouteTable } from './route-table.ts';

const table = new RouteTable<string>();
for (const [method, path] of [
  ['GET', '/api/agents/me'],
  ['PATCH', '/api/agents/{agentId}'],
  ['DELETE', '/api/agents/{agentId}'],
  ['POST', '/api/issues/{issueId}/labels/{labelId}'],
] as const) {
  table.add({ method, path }, `${method} ${path}`);
}

describe('the route table', () => {
  it('finds a row and the values of its parameters', () => {
    expect(table.find('POST', '/api/issues/7/labels/9')).toEqual({
      target: 'POST /api/issues/{issueId}/labels/{labelId}',
      values: ['7', '9'],
    });
  });

  it('prefers a literal segment to a parameter', () => {
    expect(table.find('GET', '/api/agents/me')?.target).toBe('GET /api/agents/me');
  });

  it.each([
    '/',
    '/api',
    '/api/agents',
    '/api/agents/',
    '/api/agents/1/2',
    '//api/agents/1',
    '/api/issues/7/labels',
  ])('does not know %s', (path) => {
    expect(table.find('GET', path)).toBeUndefined();
  });

  it('refuses another method of a known path, naming those that it has', () => {
    expect(() => table.find('GET', '/api/agents/1')).toThrow(
      expect.objectContaining({ kind: 'method_not_allowed', allow: ['DELETE', 'PATCH'] }),
    );
  });

  it('refuses a second row for the same method and path', () => {
    expect(() => table.add({ method: 'PATCH', path: '/api/agents/{id}' }, 'again')).toThrow('two routes');
  });
});
