import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ConfigError, encryptionKeyFile, loadConfig } from './index.ts';

let home: string;
const before = { ...process.env };

beforeEach(async () => {
  home = await mkdtemp(path.join(tmpdir(), 'key-file-'));
  process.env = { ...before, SERVICE_HOME: home };
  delete process.env.SERVICE_ENCRYPTION_KEY;
});

afterEach(async () => {
  process.env = before;
  await rm(home, { recursive: true });
});

function refusal(): unknown {
  try {
    loadConfig();
  } catch (error) {
    return error;
  }
  return undefined;
}

it('the home has a key: it is taken', async () => {
  await writeFile(encryptionKeyFile(home), `${'ab'.repeat(32)}\n`);
  expect(loadConfig().encryption_key?.toString('hex')).toBe('ab'.repeat(32));
});

it.each(['nonsense', ''])('its key is %j: the file is named, and what it must hold', async (text) => {
  await writeFile(encryptionKeyFile(home), text);
  const error = refusal();
  expect(error).toBeInstanceOf(ConfigError);
  expect(String(error)).toContain(
    `${encryptionKeyFile(home)}: must be 32 bytes as 64 hex characters or base64`,
  );
});

it('its key can’t be read: the file is named, as any wrong configuration', async () => {
  await mkdir(encryptionKeyFile(home));
  const error = refusal();
  expect(error).toBeInstanceOf(ConfigError);
  expect(String(error)).toContain(
    `${encryptionKeyFile(home)}: can’t be read by the user of this process (EISDIR)`,
  );
});
