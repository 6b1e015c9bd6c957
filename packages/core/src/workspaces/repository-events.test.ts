import { describe, expect, it } from '@jest/globals';
import { hmacSha256Hex } from '@acp/kernel';
import { branchesOf, nameOfEvent, verifyHost } from './repository-events.ts';

const NOW = 1_800_000_000;
const key = Buffer.alloc(32, 7);
const secret = `whsec_${key.toString('base64')}`;
const body = Buffer.from('{"a":1}');
const hubSignature = (over: string | Buffer, by: string = secret) => `sha256=${hmacSha256Hex(by, over)}`;
const signature = (id: string, at: number, over: string) =>
  `v1,${Buffer.from(hmacSha256Hex(key, `${id}.${at}.${over}`), 'hex').toString('base64')}`;

function verify(headers: Record<string, string>, sent: Buffer = body): void {
  verifyHost(secret, { body: sent, header: (name) => headers[name] }, NOW);
}

describe('what a host sends', () => {
  const signed = {
    'webhook-id': 'm1',
    'webhook-timestamp': String(NOW - 299),
    'webhook-signature': signature('m1', NOW - 299, '{"a":1}'),
  };

  it.each([
    ['by GitHub’s signature', { 'x-hub-signature-256': hubSignature(body) }],
    ['by GitLab’s token', { 'x-gitlab-token': secret }],
    ['by GitLab’s signature', signed],
    [
      'by one of two, while a key is exchanged',
      { ...signed, 'webhook-signature': `v1,AAAA ${signed['webhook-signature']}` },
    ],
    ['by GitLab’s token and signature', { ...signed, 'x-gitlab-token': secret }],
  ])('is known %s', (_how, headers) => {
    expect(() => verify(headers)).not.toThrow();
  });

  it.each([
    ['nothing', {}, 'missing signature'],
    ['another body', { 'x-hub-signature-256': hubSignature('{"a":2}') }, 'invalid signature'],
    ['another secret', { 'x-hub-signature-256': hubSignature(body, 'whsec_x') }, 'invalid signature'],
    ['the empty secret', { 'x-hub-signature-256': hubSignature(body, '') }, 'invalid signature'],
    ['an older kind of signature', { 'x-hub-signature': 'sha1=00' }, 'missing signature'],
    ['an empty token', { 'x-gitlab-token': '' }, 'invalid signature'],
    ['another id', { ...signed, 'webhook-id': 'm2' }, 'invalid signature'],
    [
      'a signature of yesterday',
      {
        ...signed,
        'webhook-timestamp': String(NOW - 301),
        'webhook-signature': signature('m1', NOW - 301, '{"a":1}'),
      },
      'invalid signature',
    ],
    [
      'a good signature beside a bad token',
      { 'x-hub-signature-256': hubSignature(body), 'x-gitlab-token': 'no' },
      'invalid signature',
    ],
  ])('is refused with %s', (_what, headers, error) => {
    expect(() => verify(headers as Record<string, string>)).toThrow(error);
  });

  it.each([
    ['a pull request', { action: 'closed', pull_request: { head: { ref: 'ABC-1-cart' } } }, ['ABC-1-cart']],
    ['a suite of checks', { check_suite: { head_branch: 'b' } }, ['b']],
    ['a check', { check_run: { check_suite: { head_branch: 'b' } } }, ['b']],
    ['a status of a commit', { branches: [{ name: 'b' }, { name: 'c' }, null, { name: 3 }] }, ['b', 'c']],
    [
      'a merge request',
      { object_kind: 'merge_request', object_attributes: { source_branch: 'b', target_branch: 'main' } },
      ['b'],
    ],
    ['a pipeline', { object_attributes: { ref: 'b' }, merge_request: { source_branch: 'b' } }, ['b']],
    [
      'a comment on a merge request',
      { object_attributes: { note: 'x' }, merge_request: { source_branch: 'b' } },
      ['b'],
    ],
    ['a ping', { zen: 'x', hook: {} }, []],
    [
      'something hostile',
      { pull_request: { head: { ref: { toString: 'x' } } }, branches: { length: 1e9 } },
      [],
    ],
    ['a name longer than any', { pull_request: { head: { ref: 'x'.repeat(5000) } } }, []],
    ['a list', [1, 2], []],
  ])('names the branches of %s', (_what, told, branches) => {
    expect(branchesOf(Buffer.from(JSON.stringify(told)))).toEqual(branches);
  });

  it('of which no more than twenty count, and that is no JSON, says nothing', () => {
    const many = { branches: Array.from({ length: 500 }, (_, at) => ({ name: `b${at}` })) };
    expect(branchesOf(Buffer.from(JSON.stringify(many)))).toHaveLength(20);
    for (const text of ['', 'payload=%7B', '{"a":', 'null'])
      expect(branchesOf(Buffer.from(text))).toEqual([]);
    expect(nameOfEvent({ header: () => '<b>pull_request</b>\u0000'.repeat(50) })).toMatch(/^[a-z_]{1,100}$/);
  });
});
