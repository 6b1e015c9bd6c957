import { containerCall } from '../container/container-call.ts';
import { sandboxCall } from '../sandbox/sandbox-call.ts';
import type { ProgramSpec } from '../task.ts';
import type { ProgramCall } from './run-program.ts';

/** A command within the same confinement as the agent's program: container, sandbox, or none. */
export function programCall(program: ProgramSpec, command: readonly string[], stdin: string): ProgramCall {
  const run_id = program.env.SERVICE_RUN_ID ?? '';
  if (program.container !== null)
    return containerCall({
      program,
      container: program.container,
      command,
      run_id,
      stdin,
      env: program.own_env ?? {},
    });
  const { sandbox } = program;
  const onThisMachine: ProgramCall = {
    command,
    prepare: async () => program.checkHome?.(),
    cwd: program.cwd,
    // Without confinement it has the privileges of its parent.
    env: sandbox === undefined ? { ...program.own_env, ...program.env } : program.env,
    stdin,
    run_id,
    ...(program.watch && { watch: program.watch }),
  };
  return sandbox === undefined ? onThisMachine : sandboxCall(onThisMachine, program, sandbox);
}
