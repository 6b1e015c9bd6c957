import { describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { findProgram } from '@acp/kernel';
import { authorOf } from './program-in.ts';

const withGit: typeof describe.skip = findProgram('git') === undefined ? describe.skip : describe;
const run = promisify(execFile);

withGit('the author of an agent’s commits', () => {
  it.each([
    ['Ada', 'Ada'],
    ['Ada <root@localhost>\n', 'Ada  root@localhost'],
    ['Dr. Ada, the 2nd.', 'Dr. Ada, the 2nd'],
    ['…', '…'],
    ['<>', 'agent'],
    ['.', 'agent'],
    ['";,:\\\'', 'agent'],
  ])('is one that git takes, whatever the agent is called: %j', async (name, expected) => {
    const { name: author, email } = authorOf('https://control.example:8443/x', 'a1', name);
    const env = { PATH: process.env.PATH, GIT_AUTHOR_NAME: author, GIT_AUTHOR_EMAIL: email };
    const { stdout } = await run('git', ['var', 'GIT_AUTHOR_IDENT'], { env });
    expect(stdout.replace(/ \d+ \S+\n$/, '')).toBe(`${expected} <a1@agents.control.example>`);
  });
});
