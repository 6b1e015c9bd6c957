/** @in-order the keys of one database, from one to the next */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { emptyDatabase, spawnService, startService } from '@acp/testkit';
import { baseEnv } from './api.ts';

const [former, other] = ['1'.repeat(64), '2'.repeat(64)];

describe('a database whose secrets are under a key', () => {
  let env: Record<string, string>;
  beforeAll(async () => {
    const { url } = await emptyDatabase('encryption_key');
    env = { ...baseEnv, DATABASE_URL: url, PORT: '0' };
    const service = await startService({ ...env, SERVICE_ENCRYPTION_KEY: former });
    await service.stop();
  });

  it.each(['all', 'web', 'scheduler'])(
    'a process of role %s with another key does not start, and says how to mend it',
    async (SERVICE_ROLE) => {
      const process = spawnService({ ...env, SERVICE_ROLE, SERVICE_ENCRYPTION_KEY: other });
      const { code } = await process.ended;
      expect(code).toBe(1);
      expect(process.output()).toMatch(/not the key of this database .*SERVICE_ENCRYPTION_KEY_PREVIOUS/);
    },
  );

  it('a process with the new key and the former one beside it starts', async () => {
    const rotation = { SERVICE_ENCRYPTION_KEY: other, SERVICE_ENCRYPTION_KEY_PREVIOUS: former };
    const service = await startService({ ...env, ...rotation });
    expect((await fetch(`${service.url}/healthz`)).status).toBe(200);
    await service.stop();
  });

  it('a process whose environment names none takes that of its home', async () => {
    const home = await mkdtemp(path.join(tmpdir(), 'key-of-home-'));
    await writeFile(path.join(home, 'encryption-key'), `${other}\n`);
    const strange = spawnService({ ...env, SERVICE_HOME: home });
    expect((await strange.ended).code).toBe(1);
    expect(strange.output()).toContain('is not the key of this database');
    expect(strange.output()).not.toContain(other);
    await rm(home, { recursive: true });
  });
});
