import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { testDatabase, waitFor } from '@acp/testkit';
import type { TestDatabase } from '@acp/testkit';
import { createNotifier } from './index.ts';
import type { Notifier } from './index.ts';

let test: TestDatabase;
let messages = 0;
let notifier: Notifier;
const heard: string[] = [];

beforeAll(async () => {
  test = await testDatabase();
  test.listener.on('control', (items) => {
    messages += 1;
    heard.push(...items);
  });
  await test.listener.ready();
  notifier = createNotifier({ url: test.url, poll_ms: 0 });
});

afterAll(async () => notifier.close());
afterEach(() => {
  messages = 0;
  heard.length = 0;
});

const items = (count: number, length: number) =>
  Array.from({ length: count }, (_, at) => `${at}`.padStart(length, 'x'));

describe('notifier', () => {
  it('sends what is pushed in one tick as one message, each item once and in order', async () => {
    notifier.push('control', ['warm-up']);
    await waitFor(() => heard.includes('warm-up'));
    messages = 0;
    heard.length = 0;
    notifier.push('control', ['a', 'b']);
    notifier.push('control', ['c']);
    notifier.push('control', ['a']);
    await waitFor(() => heard.includes('c'));
    expect(heard).toEqual(['a', 'b', 'c']);
    expect(messages).toBe(1);
  });

  it('splits what one notification cannot carry', async () => {
    const many = items(2000, 36);
    notifier.push('control', many);
    await waitFor(() => heard.length === many.length);
    expect(heard).toEqual(many);
    expect(messages).toBeGreaterThan(9);
  });

  it('with more than it keeps tells to read everything', async () => {
    notifier.push('control', items(40_000, 36));
    await waitFor(() => heard.length > 0);
    expect(heard).toEqual(['*']);
  });

  it('with an item that no notification carries tells to read everything', async () => {
    notifier.push('control', ['ü'.repeat(5000)]);
    await waitFor(() => heard.length > 0);
    expect(heard).toEqual(['*']);
  });

  it('carries quotes, backslashes and other scripts unharmed', async () => {
    const odd = ['"quoted"', 'back\\slash', '’naïve’ 漢字', '{"id":"1"}'];
    notifier.push('control', odd);
    await waitFor(() => heard.length === odd.length);
    expect(heard).toEqual(odd);
  });

  it('that is closed has told what was pending, and takes no more', async () => {
    const closed = createNotifier({ url: test.url, poll_ms: 0 });
    closed.push('control', ['last']);
    await closed.close();
    closed.push('control', ['too late']);
    await waitFor(() => heard.includes('last'));
    await expect(closed.sequenceNow()).rejects.toThrow('closed');
    expect(heard).toEqual(['last']);
  });
});
