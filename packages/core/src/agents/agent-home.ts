/** Location of agents' homes, and their separation (decisions 7.32). */
import { relative, resolve, sep } from 'node:path';
import { invalid, isInsideFolder, realPlace } from '@acp/kernel';
import { assertHomeDir, companyFolders, type HomeRules } from '../companies/index.ts';

/** Everything that determines the location of an agent's home. */
export interface HomePlace {
  /** The agent's override; null: the default location. */
  home_dir: string | null;
  company_home_dir: string | null;
  company: { id: string; slug: string };
  /** Overrides of the company's other agents. */
  other_homes: string[];
}

type Place = Omit<HomePlace, 'other_homes'>;

/** Overrides take precedence: the agent's, then the company's. Normalised without resolving links. */
export function homeOf(service_home: string, agent_id: string, place: Place): string {
  if (place.home_dir !== null) return resolve(place.home_dir);
  const company = place.company_home_dir ?? companyFolders(service_home, place.company.id).own;
  return resolve(company, 'agents', agent_id);
}

/**
 * Checks that the home is inside one of the company's folders and separate from its other agents' homes: a program can do
 * anything inside its home. Links are resolved, but may change later, so users of the folder keep it open and check again.
 * @returns the resolved folder @throws invalid
 */
export async function assertHome(agent_id: string, place: HomePlace, rules: HomeRules): Promise<string> {
  const home = homeOf(rules.service_home, agent_id, place);
  await assertHomeDir(place.home_dir === null ? home : place.home_dir, place.company, rules);
  const real = await realPlace(home);
  if (real === undefined) throw invalid('home_dir must be inside a folder of the company');
  const refused = invalid('home_dir must neither be inside an agent’s home nor contain one');
  if (await isInsideFolder(real, place.other_homes)) throw refused;
  const company = companyFolders(rules.service_home, place.company.id).own;
  for (const each of new Set([company, place.company_home_dir ?? company]))
    if (!(await isOutsideDefaultHomes(real, agent_id, resolve(each, 'agents')))) throw refused;
  // An agent in its default home is not to blame if another one's override is inside it.
  if (place.home_dir === null) return real;
  const held = await Promise.all(place.other_homes.map(async (other) => isInsideFolder(other, [real])));
  if (held.includes(true)) throw refused;
  return real;
}

/** Whether it neither contains nor is inside the folder of default homes; its own default home as a whole is allowed. */
async function isOutsideDefaultHomes(home: string, agent_id: string, homes: string): Promise<boolean> {
  if (await isInsideFolder(homes, [home])) return false;
  if (!(await isInsideFolder(home, [homes]))) return true;
  const real = (await realPlace(homes)) ?? homes;
  const way = relative(real, home).split(sep);
  return way.length === 1 && way[0] === agent_id;
}
