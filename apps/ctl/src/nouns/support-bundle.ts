/** `ctl support-bundle`: one file with what support asks for first, and no secrets. */
import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { ArchiveWriter } from '@acp/backup';
import { configSecrets, mapTexts, Scrubber } from '@acp/kernel';
import { type Answer, type Command, type CommandContext, UsageError } from '../command.ts';
import { facts } from '../support/facts.ts';

async function make(context: CommandContext): Promise<Answer> {
  const day = new Date().toISOString().replaceAll(/[-:]|\..*/g, '');
  const file = path.resolve(context.options.file ?? `support-${day}.tar.gz`);
  // A last line of defence: values that the environment declares secret are removed from errors and states as well.
  const scrubber = new Scrubber(configSecrets());
  const archive = new ArchiveWriter(() => undefined);
  const written = pipeline(
    archive.stream,
    createGzip(),
    createWriteStream(file, { flags: 'wx', mode: 0o600 }),
  );
  // Its own promise reports errors; until it is awaited, an unwritable file must not end the process.
  written.catch(() => undefined);
  const missing: string[] = [];
  const write = (async () => {
    for (const [name, fact] of Object.entries(facts)) {
      const content = await Promise.resolve(fact(context)).catch((error: unknown) => {
        missing.push(name);
        return { not_read: error instanceof Error ? error.name : 'unknown' };
      });
      const plain: unknown = JSON.parse(JSON.stringify(content));
      await archive.json(`support/${name}.json`, mapTexts(plain, (text) => scrubber.scrub(text)) as object);
    }
    archive.end();
  })();
  try {
    await Promise.all([Promise.race([write, written]), written]);
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException;
    // Half of it is none.
    if (syscall !== 'open') await rm(file, { force: true });
    if (code === undefined || !['EEXIST', 'ENOENT', 'EACCES', 'EISDIR'].includes(code)) throw error;
    throw new UsageError(`${file} can't be written: ${code}`);
  }
  const names = Object.keys(facts);
  const gaps = missing.length === 0 ? '' : `\ncould not be read: ${missing.join(', ')}`;
  return {
    value: { file, facts: names, missing },
    text: `${file}: ${names.join(', ')}; no secret, no content of a company. Read it before you hand it on.${gaps}`,
  };
}

export const supportBundle: Record<string, Command> = {
  '': {
    usage: 'support-bundle [--file <path>]',
    doc: 'Writes an archive for support: configuration without secrets, findings, states, sizes.',
    optional: ['file'],
    any_schema: true,
    run: make,
  },
};
