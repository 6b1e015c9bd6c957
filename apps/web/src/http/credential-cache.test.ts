import { describe, expect, it } from '@jest/globals';
import { CredentialCache } from './credential-cache.ts';

interface Who {
  name: string;
}

function setUp({ max = 3 } = {}) {
  let now = 0;
  let reads = 0;
  const cache = new CredentialCache<Who>({ max, ttl_ms: 10_000, negative_ttl_ms: 2000, now: () => now });
  const ask = async (
    hash: string,
    found: { actor: Who | undefined; tags: string[]; ends_in_ms?: number | null },
  ) => {
    const known = cache.peek(hash);
    if (known !== null) return known;
    return cache.load(hash, async () => {
      reads += 1;
      return found;
    });
  };
  return { cache, ask, pass: (ms: number) => (now += ms), reads: () => reads };
}

const ada = { actor: { name: 'Ada' }, tags: ['key-1', 'company-1'] };
const bob = { actor: { name: 'Bob' }, tags: ['key-2', 'company-1'] };
const nobody = { actor: undefined, tags: [] };

describe('the credential cache', () => {
  it('is asked twice within its time: reads once', async () => {
    const { ask, pass, reads } = setUp();
    await ask('a', ada);
    pass(9999);
    await expect(ask('a', ada)).resolves.toBe(ada.actor);
    expect(reads()).toBe(1);
  });

  it('is asked after its time: reads again', async () => {
    const { ask, pass, reads } = setUp();
    await ask('a', ada);
    pass(10_000);
    await ask('a', ada);
    expect(reads()).toBe(2);
  });

  it('forgets a key that ends at its end', async () => {
    const { ask, pass, reads } = setUp();
    await ask('a', { ...ada, ends_in_ms: 1500 });
    pass(1499);
    await ask('a', ada);
    expect(reads()).toBe(1);
    pass(1);
    await expect(ask('a', nobody)).resolves.toBeUndefined();
    expect(reads()).toBe(2);
  });

  it('remembers an unknown token for a shorter time', async () => {
    const { ask, pass, reads } = setUp();
    await ask('x', nobody);
    pass(1999);
    await expect(ask('x', nobody)).resolves.toBeUndefined();
    pass(1);
    await ask('x', nobody);
    expect(reads()).toBe(2);
  });

  it('drops what depends on an id and keeps the rest', async () => {
    const { cache, ask } = setUp();
    await ask('a', ada);
    await ask('b', bob);
    cache.drop(['key-1']);
    expect(cache.peek('a')).toBeNull();
    expect(cache.peek('b')).toBe(bob.actor);
    cache.drop(['company-1']);
    expect(cache.peek('b')).toBeNull();
    expect(cache.size).toBe(0);
  });

  it('drops everything at the wildcard', async () => {
    const { cache, ask } = setUp();
    await ask('a', ada);
    await ask('x', nobody);
    cache.drop(['*']);
    expect(cache.size).toBe(0);
  });

  it('a revocation arrives while the token is being read: the answer is not kept', async () => {
    const { cache } = setUp();
    const gate = Promise.withResolvers<typeof ada>();
    const loading = cache.load('a', async () => gate.promise);
    cache.drop(['anything']);
    gate.resolve(ada);
    await loading;
    expect(cache.peek('a')).toBeNull();
  });

  it('many requests come with one new token: it is read once', async () => {
    const { ask, reads } = setUp();
    await Promise.all([ask('a', ada), ask('a', ada), ask('a', ada)]);
    expect(reads()).toBe(1);
  });

  it('holds no more than its maximum: the least recently used goes', async () => {
    const { cache, ask } = setUp({ max: 2 });
    await ask('a', ada);
    await ask('b', bob);
    cache.peek('a');
    await ask('x', nobody);
    expect(cache.size).toBe(2);
    expect(cache.peek('b')).toBeNull();
    expect(cache.peek('a')).toBe(ada.actor);
  });

  it('a read fails: the next one asks again', async () => {
    const { cache } = setUp();
    const failing = cache.load('a', async () => {
      throw new Error('down');
    });
    await expect(failing).rejects.toThrow('down');
    await expect(cache.load('a', async () => ada)).resolves.toBe(ada.actor);
  });
});
