import { join } from 'node:path';
import { type AdapterTask, isCli, permissionsOf, type ProgramSpec } from '@acp/adapters';
import { UnsafePlace } from '@acp/kernel';
import { RunFailure } from '../execution/run-failure.ts';
import type { WorkspaceFiles } from '../verbs/verb.ts';
import type { RunWorkspace } from './run-workspace.ts';
import { workspaceFiles } from './workspace-files.ts';

/** The agent's program, running in the workspace instead of its home. */
export function programIn(
  program: ProgramSpec,
  { held, repository, env, facts: { issue, agent_name, workspace } }: RunWorkspace,
  author: { name: string; email: string },
): ProgramSpec {
  const readable =
    workspace.kind === 'repository' && repository !== null ? [join(repository, 'objects')] : [];
  const reserved = /^(SERVICE_|GIT_|HOME$|PATH$)/;
  return {
    ...program,
    cwd: held.path,
    workspace: { path: held.path, identity: held.identity, readable },
    checkHome: async () => {
      await program.checkHome?.();
      await held.assertInPlace().catch((err: unknown) => {
        throw err instanceof UnsafePlace ? new RunFailure('config', `the workspace: ${err.message}`) : err;
      });
    },
    own_env: Object.fromEntries(Object.entries(env).filter(([name]) => !reserved.test(name))),
    env: {
      ...program.env,
      SERVICE_ISSUE_IDENTIFIER: issue.identifier,
      SERVICE_AGENT_NAME: agent_name,
      GIT_AUTHOR_NAME: author.name,
      GIT_AUTHOR_EMAIL: author.email,
      GIT_COMMITTER_NAME: author.name,
      GIT_COMMITTER_EMAIL: author.email,
      GIT_TERMINAL_PROMPT: '0',
    },
  };
}

/** Writes files into the workspace on behalf of the program's verbs; null if it may only read there. */
export function filesFor(
  {
    adapter_type,
    adapter_config,
    program,
  }: Pick<AdapterTask, 'adapter_type' | 'adapter_config'> & { program: ProgramSpec },
  { held }: RunWorkspace,
): WorkspaceFiles | null {
  const mayOnlyRead = isCli(adapter_type) && permissionsOf(adapter_config, program) === 'read';
  return mayOnlyRead ? null : workspaceFiles(held);
}

/** Not a real mailbox: readers of a commit see which agent made it, and on which instance. */
export function authorOf(
  public_url: string,
  agent_id: string,
  name: string,
): { name: string; email: string } {
  const { hostname } = new URL(public_url);
  const plain = name.replaceAll(/[<>\p{Cc}]/gu, ' ').trim();
  // Git refuses a name of which it would drop everything.
  return { name: /^[\s.,:;"'\\]*$/.test(plain) ? 'agent' : plain, email: `${agent_id}@agents.${hostname}` };
}
