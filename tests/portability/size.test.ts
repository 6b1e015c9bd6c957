/** The database cost of an import or export does not grow with the number of entries. */
import { expect, it } from '@jest/globals';
import type { CompanyBundle } from '@acp/contract';
import { finishExport, importCompany, readExport, systemActor } from '@acp/core';
import { openDatabase, transaction } from '@acp/db';
import { createLogger, newId, Vault } from '@acp/kernel';
import { cloneDatabase, startStatementCounter } from '@acp/testkit';

const director = systemActor('tests');
const vault = new Vault(null, []);

function bundleOf(size: number): CompanyBundle {
  const each = <T>(make: (n: number) => T): T[] => Array.from({ length: size }, (_, n) => make(n));
  return {
    format: 'company-bundle',
    version: 1,
    company: { name: 'Sized' },
    labels: each((n) => ({ name: `label ${n}` })),
    skills: each((n) => ({ slug: `s${n}`, name: `S${n}`, description: 'Does.', body_markdown: 'Do.' })),
    agents: each((n) => ({ slug: `a${n}`, name: `A${n}`, role: 'engineer', skills: [`s${n}`] })),
    goals: each((n) => ({ slug: `g${n}`, title: `G${n}`, owner: `a${n}` })),
    projects: each((n) => ({ slug: `p${n}`, name: `P${n}`, goal: `g${n}` })),
    routines: each((n) => ({ slug: `r${n}`, name: `R${n}`, triggers: [{ kind: 'webhook' }] })),
    issues: each((n) => ({
      slug: `i${n}`,
      title: `I${n}`,
      labels: [`label ${n}`],
      comments: [{ body_markdown: 'Said.' }],
      documents: [{ key: 'plan', title: 'Plan', body: 'Do.' }],
      relations: n === 0 ? [] : [{ type: 'depends_on', target: `i${n - 1}` }],
    })),
    notes: each((n) => ({ title: `N${n}`, body_markdown: 'Text.' })),
    budget_policies: each((n) => ({ scope_type: 'agent', scope: `a${n}`, window: 'day', limit_usd: 1 })),
  };
}

it('a bundle of hundreds takes as many statements as one of a dozen, in and out', async () => {
  const { url } = await cloneDatabase('sizes');
  const counter = await startStatementCounter(url);
  const logger = createLogger({ level: 'error', format: 'json', role: 'test' });
  const database = openDatabase({ url: counter.url, max: 1, application_name: 'sized', logger });
  try {
    const means = {
      vault,
      rules: {
        adapters: { docker_images: [], cli_sandbox_image: null, lambda_functions: [] },
        providers: { egress: 'any' },
      },
      environment: { allowed_envs: [], allowed_hosts: [], readEnv: () => undefined },
    } as const;
    const spent = async <T>(act: () => Promise<T>): Promise<[statements: number, result: T]> => {
      const before = counter.total();
      const result = await act();
      return [counter.total() - before, result];
    };
    const trip = async (size: number) => {
      const bundle = bundleOf(size);
      const new_company = { name: 'Sized', slug: `sized-${newId()}` };
      const [made, { company_id, created }] = await spent(() =>
        transaction(database, (tx) => importCompany(tx, director, { bundle, new_company }, means)),
      );
      expect(Object.values(created).every((n) => n === size || n === 0)).toBe(true);
      const [merged] = await spent(() =>
        transaction(database, (tx) =>
          importCompany(tx, director, { bundle, company_id: company_id! }, means),
        ),
      );
      const options = { issues: true, max_bytes: 25_000_000 };
      const [read, out] = await spent(() =>
        transaction(database, (tx) => readExport(tx, director, company_id!, vault, options)),
      );
      expect((await finishExport(out)).issues).toHaveLength(size);
      return { made, merged, read };
    };
    // With fewer, some bounds are checked without a lock.
    expect(await trip(300)).toEqual(await trip(12));
  } finally {
    await database.close();
    counter.close();
  }
});
