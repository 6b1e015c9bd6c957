/**
 * Extracts a file's text in a separate process with limits on time, memory, output and access: parsers of untrusted files
 * crash, hang and unpack a megabyte to terabytes, and none of it may cost the scheduler more than a failed attempt.
 */
import { killMarked } from '@acp/adapters';
import type { ExtractedText, TextKind } from '@acp/core';
import { newId } from '@acp/kernel';
import { spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { LONGEST_OUTPUT_BYTES, LONGEST_TEXT, UNREADABLE } from './protocol.ts';
import { walledCommand } from './walls.ts';

export interface ExtractionLimits {
  timeout_ms: number;
  /** Resident memory of the whole process, which takes about 80 MB when it starts. */
  memory_mb: number;
}

interface Extraction {
  /** Folders with state of the service, which are hidden from the process. */
  hidden: readonly string[];
  limits?: ExtractionLimits;
}

const DEFAULT_LIMITS: ExtractionLimits = { timeout_ms: 30_000, memory_mb: 400 };
const LONGEST_REASON = 300;
const TOO_MUCH = 'the file took too much time or memory';

/**
 * If a limit is reached, or the file turns out to be broken, the result is the text found so far with a note that says so.
 * Throws what the source threw, the signal's reason, or an Error if no process could be started: worth a retry.
 */
export async function extractText(
  kind: TextKind,
  source: Readable,
  signal: AbortSignal,
  { hidden, limits = DEFAULT_LIMITS }: Extraction,
): Promise<ExtractedText> {
  // Until it is read, no one else would notice the error.
  source.once('error', () => undefined);
  const [program = '', ...args] = await walledCommand(
    'child.ts',
    [kind, String(limits.memory_mb), String(limits.timeout_ms)],
    limits.memory_mb,
    hidden,
  );
  if (source.errored) throw source.errored;
  signal.throwIfAborted();
  const ended = AbortSignal.any([signal, AbortSignal.timeout(limits.timeout_ms)]);
  const mark = newId();
  const env = { SERVICE_RUN_ID: mark };
  const child = spawn(program, args, { env, stdio: 'pipe', signal: ended, killSignal: 'SIGKILL' });
  // Killed during its setup, bubblewrap leaves behind a process that waits for it and keeps the pipes open.
  const killRest = (): void => void killMarked(mark);
  ended.addEventListener('abort', killRest, { once: true });
  const exit = new Promise<number | null>((done, failed) => {
    child.once('close', done);
    child.once('error', (error) => {
      if (child.pid === undefined) failed(error);
    });
  });
  // Processes started by the child may outlive it for a moment and keep its pipes open.
  const letGo = (): void => {
    for (const pipe of [child.stdin, child.stdout, child.stderr]) pipe.destroy();
  };
  signal.addEventListener('abort', letGo, { once: true });
  const [fed, output, reason, code] = await Promise.allSettled([
    pipeline(source, child.stdin, { signal: ended }),
    bounded(child.stdout, () => child.kill('SIGKILL')),
    bounded(child.stderr, () => child.kill('SIGKILL')),
    exit,
  ]);
  signal.removeEventListener('abort', letGo);
  ended.removeEventListener('abort', killRest);
  signal.throwIfAborted();
  if (code.status === 'rejected') throw code.reason;
  if (fed.status === 'rejected' && !isHangUp(fed.reason) && !ended.aborted) throw fed.reason;
  // Neither the output nor the exit status can be trusted: the process read an untrusted file.
  const found =
    output.status === 'fulfilled' ? clean(output.value).slice(0, LONGEST_TEXT).toWellFormed() : '';
  if (code.value === 0)
    return found.trim() === '' ? { status: 'none' } : { status: 'done', extracted_text: found.trim() };
  const cause = code.value === UNREADABLE && reason.status === 'fulfilled' ? clean(reason.value).trim() : '';
  return unfinished(found.trim(), cause === '' ? TOO_MUCH : cause.slice(0, LONGEST_REASON).toWellFormed());
}

function unfinished(beginning: string, why: string): ExtractedText {
  if (beginning === '') return { status: 'failed', error: why };
  const note = `\n[The rest was not read: ${why}]`;
  return {
    status: 'done',
    extracted_text: beginning.slice(0, LONGEST_TEXT - note.length).toWellFormed() + note,
  };
}

/** Drops what PostgreSQL can't store as text. */
const clean = (said: string): string => said.replaceAll('\0', '');

async function bounded(stream: Readable, stop: () => void): Promise<string> {
  let size = 0;
  stream.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size > LONGEST_OUTPUT_BYTES) stop();
  });
  return text(stream);
}

/** The child exited before it had read everything: its exit status says why. */
function isHangUp(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return ['EPIPE', 'ERR_STREAM_PREMATURE_CLOSE', 'ECONNRESET', 'ECANCELED'].includes(String(code));
}
