/** An operator's work with companies as files. */
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { CompanyBundle, ImportedCompany } from '@acp/contract';
import { type Database, schema } from '@acp/db';
import { createLogger, loadConfig } from '@acp/kernel';
import { cloneDatabase, createAgent, createCompany } from '@acp/testkit';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { UsageError } from '../command.ts';
import { parseCommand } from '../run-ctl.ts';

let database: Database;
beforeAll(async () => {
  ({ database } = await cloneDatabase('ctl_files'));
});

async function ctl(...words: string[]) {
  const { command, options } = parseCommand(['companies', ...words]);
  const logger = createLogger({ level: 'error', format: 'json', role: 'test' });
  return command.run({ config: loadConfig({}), logger, database, direct_url: '', options });
}

describe('companies export and import', () => {
  it('write a file that makes the company again, after a dry run that makes nothing', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'acp-ctl-files-'));
    try {
      const company = await createCompany(database.db, { slug: 'harbour', name: 'Harbour' });
      await createAgent(database.db, company, { name: 'Ada' });
      const file = join(folder, 'harbour.json');
      await ctl('export', '--company', 'harbour', '--include', 'issues', '--file', file);
      expect((await stat(file)).mode & 0o777).toBe(0o600);
      const bundle = JSON.parse(await readFile(file, 'utf8')) as CompanyBundle;
      expect(bundle.agents).toMatchObject([{ slug: 'ada', name: 'Ada' }]);
      await expect(ctl('export', '--company', 'harbour', '--file', file)).rejects.toThrow('EEXIST');

      const dry = await ctl('import', '--file', file, '--slug', 'copy', '--dry-run');
      expect(dry.text).toContain('nothing is changed');
      expect(await database.db.$count(schema.companies)).toBe(1);
      const made = await ctl('import', '--file', file, '--slug', 'copy', '--name', 'A copy');
      expect(made.value).toMatchObject({ created: { agents: 1 } });
      const again = await ctl('import', '--file', file, '--company', 'copy');
      expect((again.value as ImportedCompany).skipped).toMatchObject([{ type: 'agents', name: 'Ada' }]);
      await expect(ctl('import', '--file', file)).rejects.toThrow('either --slug');
      await writeFile(join(folder, 'keys'), '{bad');
      const keys = ['--provider-keys', join(folder, 'keys')];
      const unread = ctl('import', '--file', file, '--slug', 'x', ...keys);
      await expect(unread).rejects.toThrow(new UsageError(`${join(folder, 'keys')} is not JSON`));
      for (const unreadable of [folder, join(folder, 'nothing')])
        for (const options of [
          ['--file', unreadable],
          ['--file', file, '--provider-keys', unreadable],
        ])
          await expect(ctl('import', '--slug', 'x', ...options)).rejects.toThrow(
            new RegExp(`^${unreadable} can't be read: (it is a folder|ENOENT)$`),
          );
      await expect(ctl('import', '--slug', 'x')).rejects.toThrow('either --file or --template');
      await expect(ctl('import', '--template', 'nope', '--slug', 'x')).rejects.toThrow(
        'there is no template nope: `companies templates` lists them',
      );
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});
