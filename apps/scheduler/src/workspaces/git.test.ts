import { expect, it } from '@jest/globals';
import { tmpdir } from 'node:os';
import { git } from './git.ts';

it('an error says what git said, without secrets, also where the password of a login is empty', async () => {
  const call = {
    cwd: tmpdir(),
    args: ['rev-parse', '--git-dir=the-token'],
    signal: new AbortController().signal,
    timeout_ms: 10_000,
    env: { GIT_DIR: '/nowhere/the-token' },
  };
  await expect(git({ ...call, secrets: ['the-token:', 'the-token', ''] })).rejects.toThrow(
    "not a git repository: '/nowhere/[redacted]'",
  );
});
