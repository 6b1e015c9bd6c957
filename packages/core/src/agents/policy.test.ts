import { describe, expect, it } from '@jest/globals';
import { actors } from '@acp/testkit';
import { outsideActor } from '../activity/index.ts';
import { assertMayConfigure, isCompanyAdmin, namesSecret, permissionsOfHire } from './policy.ts';

const company = { id: 'c1' };
const agent = (permissions: Record<string, boolean> = {}) =>
  actors.agent({ id: 'a1', company_id: company.id, name: 'Ada', permissions });
const member = actors.board(company, 'member');
const admin = actors.board(company, 'admin');
const user = (roles: Record<string, 'member' | 'admin'>) =>
  actors.user({ id: 'u1', display_name: 'U' }, roles);

it('callers without a name and whatever is outside of the service are admin of no company; the system is of each', () => {
  const callers = [
    { kind: 'anonymous', name: 'anonymous' },
    outsideActor('plugin p'),
    actors.system,
  ] as const;
  expect(callers.map((each) => isCompanyAdmin(each, 'c1'))).toEqual([false, false, true]);
});

describe('permissions of agents', () => {
  it('give a hired agent no more than the one that hires, and the defaults where a human does', () => {
    expect(permissionsOfHire(agent({ 'notes.write': false, 'secrets.use': true }))).toEqual({
      'notes.write': false,
    });
    expect(permissionsOfHire(agent())).toEqual({});
    expect(permissionsOfHire(member)).toEqual({});
  });
});

const may = (actor: Parameters<typeof assertMayConfigure>[0], before: object, after: object) => () =>
  assertMayConfigure(actor, company.id, { ...before }, { ...after });

describe('adapter_config', () => {
  const secret = { env: { list: ['x', 'Bearer ${secret:TOKEN}'] } };

  it('shows its secrets wherever they stand', () => {
    expect([namesSecret(secret), namesSecret({ '${secret:K}': 1 }), namesSecret({ a: '$secret' })]).toEqual([
      true,
      true,
      false,
    ]);
  });

  it('with secrets is for admins and for agents with secrets.use', () => {
    expect(may(member, {}, secret)).toThrow('secrets');
    expect(may(agent(), {}, secret)).toThrow('secrets');
    expect(may(user({ c1: 'member' }), {}, secret)).toThrow('secrets');
    expect(may(user({ c2: 'admin' }), {}, secret)).toThrow('secrets');
    expect(may(agent({ 'secrets.use': true }), {}, secret)).not.toThrow();
    expect(may(admin, {}, secret)).not.toThrow();
    expect(may(user({ c1: 'admin' }), {}, secret)).not.toThrow();
    expect(may(actors.instanceAdmin({ id: 'u', display_name: 'U' }), {}, secret)).not.toThrow();
  });

  it('with secrets may be sent back unchanged, in any order of keys, but not changed around them', () => {
    expect(may(member, { ...secret, a: 1 }, { a: 1, ...secret })).not.toThrow();
    expect(may(member, { ...secret, base_url: 'https://a' }, { ...secret, base_url: 'https://b' })).toThrow(
      'secrets',
    );
    expect(may(member, secret, {})).toThrow('secrets');
  });

  it('sets or drops allow_dangerous_permissions by admins only', () => {
    const dangerous = { allow_dangerous_permissions: true };
    expect(may(member, {}, dangerous)).toThrow('only admins can set');
    expect(may(agent({ 'secrets.use': true }), {}, dangerous)).toThrow('only admins can set');
    expect(may(member, dangerous, {})).toThrow('only admins can set');
    expect(may(member, dangerous, { ...dangerous, model: 'm' })).not.toThrow();
    expect(may(admin, {}, dangerous)).not.toThrow();
  });
});
