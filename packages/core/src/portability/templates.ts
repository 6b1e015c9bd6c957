/** Ready-made companies: bundles in a folder of the release, `<slug>.json` each. */
import type { CompanyBundle, CompanyTemplate } from '@acp/contract';
import { notFound } from '@acp/kernel';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readBundle } from './read-bundle.ts';

const name = /^([a-z0-9]+(?:-[a-z0-9]+)*)\.json$/;
const read = new Map<string, Promise<ReadonlyMap<string, CompanyBundle>>>();

/** Read once per process, since they are part of the release. A missing folder has none. */
async function templatesIn(folder: string): Promise<ReadonlyMap<string, CompanyBundle>> {
  const known = read.get(folder) ?? readAll(folder);
  read.set(folder, known);
  return known;
}

async function readAll(folder: string): Promise<ReadonlyMap<string, CompanyBundle>> {
  const files = await readdir(folder).catch(() => []);
  const slugs = files.flatMap((file) => name.exec(file)?.[1] ?? []).toSorted();
  const entries = slugs.map(
    async (slug) => [slug, readBundle(await readFile(join(folder, `${slug}.json`)))] as const,
  );
  return new Map(await Promise.all(entries));
}

/** @throws notFound */
export async function companyTemplate(folder: string, slug: string): Promise<CompanyBundle> {
  const bundle = (await templatesIn(folder)).get(slug);
  if (!bundle) throw notFound();
  return bundle;
}

export async function listTemplates(folder: string): Promise<CompanyTemplate[]> {
  return [...(await templatesIn(folder))].map(([slug, bundle]) => ({
    slug,
    name: bundle.company.name,
    description: bundle.manifest?.description ?? '',
    agents: (bundle.agents ?? []).map((agent) => ({
      name: agent.name,
      role: agent.role,
      title: agent.title ?? null,
    })),
    skills: bundle.skills?.length ?? 0,
    routines: bundle.routines?.length ?? 0,
    goals: bundle.goals?.length ?? 0,
  }));
}
