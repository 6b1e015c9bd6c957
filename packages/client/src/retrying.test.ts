import { expect, it } from '@jest/globals';
import { retrying } from './retrying.ts';

it('a call is sent again though the connection of the refusal was lost within its body', async () => {
  const cut = new ReadableStream({ start: (body) => body.error(new TypeError('terminated')) });
  const answers = [new Response(cut, { status: 503 }), new Response('[]')];
  const { response } = await retrying(async () => answers.shift()!, true, { max_wait_ms: 1 });
  expect(await response.text()).toBe('[]');
});

it.each([
  ['seconds', () => '1'],
  ['a date', () => new Date(Date.now() + 2000).toUTCString()],
])('a call is sent again no sooner than is asked for, in %s', async (_, asked) => {
  const refusal = new Response(null, { status: 503, headers: { 'retry-after': asked() } });
  const answers = [refusal, new Response('[]')];
  const begin = performance.now();
  await retrying(async () => answers.shift()!, true, {});
  expect(performance.now() - begin).toBeGreaterThan(900);
});
