/**
 * The text of a file, by a process of its own with bounds on time, memory and output: parsers of other people's files
 * crash, hang and unpack a megabyte to terabytes, and none of it may cost the scheduler more than a failed attempt.
 */
import type { ExtractedText, TextKind } from '@acp/core';
import { spawn } from 'node:child_process';
import { join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { LONGEST_OUTPUT_BYTES, UNREADABLE } from './protocol.ts';

export interface ExtractionLimits {
  timeout_ms: number;
  /** Resident, of the whole process; its bare start takes about 80 MB. */
  memory_mb: number;
}

const DEFAULT_LIMITS: ExtractionLimits = { timeout_ms: 30_000, memory_mb: 400 };
const LONGEST_REASON = 300;
const repositoryRoot = resolve(import.meta.dirname, '../../../..');

/** Throws what the source threw, the signal's reason, or an Error when no process could be started: worth a retry. */
export async function extractText(
  kind: TextKind,
  source: Readable,
  signal: AbortSignal,
  limits: ExtractionLimits = DEFAULT_LIMITS,
): Promise<ExtractedText> {
  const ended = AbortSignal.any([signal, AbortSignal.timeout(limits.timeout_ms)]);
  const child = spawn(process.execPath, [...nodeOptions(limits), kind, String(limits.memory_mb)], {
    env: {},
    stdio: 'pipe',
    signal: ended,
    killSignal: 'SIGKILL',
  });
  const exit = new Promise<number | null>((done, failed) => {
    child.once('close', done);
    child.once('error', (error) => {
      if (child.pid === undefined) failed(error);
    });
  });
  const [fed, output, reason, code] = await Promise.allSettled([
    pipeline(source, child.stdin, { signal: ended }),
    bounded(child.stdout, () => child.kill('SIGKILL')),
    bounded(child.stderr, () => child.kill('SIGKILL')),
    exit,
  ]);
  signal.throwIfAborted();
  if (code.status === 'rejected') throw code.reason;
  if (fed.status === 'rejected' && !isHangUp(fed.reason) && !ended.aborted) throw fed.reason;
  if (code.value === UNREADABLE && reason.status === 'fulfilled')
    return { status: 'failed', error: reason.value.slice(0, LONGEST_REASON).trim() || 'unreadable' };
  if (code.value !== 0 || output.status === 'rejected')
    return { status: 'failed', error: 'the file took too much time or memory' };
  const extracted = output.value.trim();
  return extracted === '' ? { status: 'none' } : { status: 'done', extracted_text: extracted };
}

/** It may read the code, and nothing else: no other file, no write, no process of its own. */
function nodeOptions({ memory_mb }: ExtractionLimits): string[] {
  return [
    `--max-old-space-size=${memory_mb}`,
    '--permission',
    `--allow-fs-read=${repositoryRoot}`,
    '--allow-worker',
    '--no-warnings',
    join(import.meta.dirname, 'child.ts'),
  ];
}

async function bounded(stream: Readable, stop: () => void): Promise<string> {
  let size = 0;
  stream.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size > LONGEST_OUTPUT_BYTES) stop();
  });
  return text(stream);
}

/** The child ended before it had read everything: its exit says why. */
function isHangUp(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return code === 'EPIPE' || code === 'ERR_STREAM_PREMATURE_CLOSE' || code === 'ECONNRESET';
}
