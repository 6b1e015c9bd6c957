import { spawn } from 'node:child_process';

export interface Guard {
  /** Call when the folder is already gone: nothing is left to guard. */
  dismiss(): void;
}

// Its stdin is a pipe whose other end only the guarded process has: end of file means that process has died.
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

/** Stops the server in `folder` and removes the folder when this process dies, even by SIGKILL. */
export function guardFolder(folder: string): Guard {
  // In a session of its own, so that a Ctrl-C meant for the guarded process does not reach it.
  const child = spawn('/bin/sh', ['-c', SCRIPT, 'guard', folder], {
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  // Without a shell the folder survives a kill; that is no reason not to start.
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
