import { spawn } from 'node:child_process';

export interface Guard {
  /** The folder is gone already: nothing is left to guard. */
  dismiss(): void;
}

// Its standard input is a pipe that only the guarded process holds: the end of the file is the end of that process.
const SCRIPT = `
read -r _
pid=$(head -n 1 "$1/data/postmaster.pid" 2> /dev/null)
if [ -n "$pid" ]; then
  kill -QUIT "$pid"
  for _ in $(seq 100); do
    # Gone, or a zombie whose new parent does not ask for it.
    grep -qs '^State:.[^XZ]' "/proc/$pid/status" || break
    sleep 0.1
  done
fi
rm -rf "$1"
`;

/** Stops the server in `folder` and removes the folder when this process dies, a SIGKILL included. */
export function guardFolder(folder: string): Guard {
  // In a session of its own, so that a Ctrl-C meant for the guarded process spares it.
  const child = spawn('/bin/sh', ['-c', SCRIPT, 'guard', folder], {
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  // Without a shell the folder outlives a kill; that is no reason not to start.
  child.on('error', () => undefined);
  child.unref();
  const { stdin } = child;
  stdin.on('error', () => undefined);
  (stdin as typeof stdin & { unref?: () => void }).unref?.();
  return {
    dismiss: () => {
      child.kill('SIGKILL');
      stdin.destroy();
    },
  };
}
