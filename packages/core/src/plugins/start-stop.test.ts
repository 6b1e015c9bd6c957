import { describe, expect, it } from '@jest/globals';
import { assertAllowlisted, assertApproved, assertMayStart } from './start-stop.ts';
import type { PluginRow } from './store.ts';

const row = (values: Partial<PluginRow>) =>
  ({ enabled: true, state: 'installed', wanted: false, approval_state: 'allowed', ...values }) as PluginRow;

describe('the list of binaries', () => {
  it.each([
    ['empty, admits any', [], '/opt/a', true],
    ['with the path, admits it', ['/opt/a'], '/opt/a', true],
    ['with the path of another folder, does not', ['/opt/a'], '/tmp/a', false],
    ['with the name, admits it in any folder', ['a'], '/tmp/a', true],
    ['with a part of the name, does not', ['a'], '/tmp/ab', false],
    ['with a path that only ends alike, does not', ['/opt/a'], '/srv/opt/a', false],
  ])('%s', (_, list, path, admitted) => {
    expect(outcome(() => assertAllowlisted(path, list))).toBe(
      admitted ? 'ok' : 'plugin binary is not allowlisted',
    );
  });
});

describe('a start', () => {
  it.each([
    ['of one that is banned', { approval_state: 'banned' }, 'plugin is banned'],
    ['of one that is pending', { approval_state: 'pending' }, 'plugin is pending approval'],
    ['of one that is allowed', {}, 'ok'],
  ])('%s: %s', (_, values, expected) => {
    expect(outcome(() => assertApproved(row(values)))).toBe(expected);
  });

  it.each([
    ['start', { state: 'stopped' }, 'ok'],
    ['start', { state: 'running', wanted: true }, 'plugin is already running'],
    ['start', { state: 'stopped', wanted: true }, 'plugin is already running'],
    ['start', { state: 'errored' }, 'plugin is errored: restart it'],
    ['start', { enabled: false, state: 'disabled' }, 'plugin is disabled'],
    ['restart', { state: 'running', wanted: true }, 'ok'],
    ['restart', { state: 'errored' }, 'ok'],
    ['restart', { state: 'stopped' }, 'plugin is stopped: start it'],
  ] as const)('%s of %j: %s', (how, values, expected) => {
    expect(outcome(() => assertMayStart(row(values), how))).toBe(expected);
  });
});

function outcome(check: () => void): string {
  try {
    check();
    return 'ok';
  } catch (err) {
    return (err as Error).message;
  }
}
