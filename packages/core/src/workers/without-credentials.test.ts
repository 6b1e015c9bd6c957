import { expect, it } from '@jest/globals';
import type { TaskPayload } from '@acp/contract';
import { newApiKey, newId, Vault } from '@acp/kernel';
import { cpuMs } from '@acp/testkit';
import { moduleToken } from './module-tokens.ts';
import { withoutCredentials } from './without-credentials.ts';

const BEGUN = Buffer.from('{"project_id":"').toString('base64url');

it('a key and a token are removed, wherever they stand', () => {
  const vault = new Vault(Buffer.alloc(32, 7));
  const payload = { project_id: newId(), project_file_backend: 'module', run_id: newId() } as TaskPayload;
  const token = moduleToken(vault, payload, new Date()) ?? 'none';
  const text = `It is ${newApiKey()}, ${BEGUN}${token} or ${token}.`;
  expect(withoutCredentials(text)).toBe('It is [redacted], [redacted] or [redacted].');
});

it('a text of a megabyte that begins like a token again and again is searched in linear time', () => {
  const text = BEGUN.repeat(50_000);
  let clean = '';
  // Quadratic behaviour would take minutes.
  expect(cpuMs(() => (clean = withoutCredentials(text)))).toBeLessThan(20_000);
  expect(clean).toBe(text);
});
