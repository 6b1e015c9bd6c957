/** Where an agent's home lies, and the walls between homes (decisions 7.32). */
import { join, relative, resolve, sep } from 'node:path';
import { invalid, isInsideFolder, realPlace } from '@acp/kernel';
import { assertHomeDir, type HomeRules } from '../companies/index.ts';

/** What says where an agent's home lies. */
export interface HomePlace {
  /** Overrides; null: the usual place. */
  home_dir: string | null;
  company_home_dir: string | null;
  company: { id: string; slug: string };
  /** Overrides of the company's other agents. */
  other_homes: string[];
}

type Place = Omit<HomePlace, 'other_homes'>;

/** Overrides go first: the agent's, then the company's. Without the detours that a configured path may take. */
export function homeOf(service_home: string, agent_id: string, place: Place): string {
  if (place.home_dir !== null) return resolve(place.home_dir);
  const company = place.company_home_dir ?? join(service_home, 'companies', place.company.id);
  return resolve(company, 'agents', agent_id);
}

/**
 * The home must lie in a folder of the company, and apart from the homes of its other agents: a program may do with its
 * home what it likes, also with what lies in it. Links are followed; they may change later, so whoever uses the folder
 * holds it open and checks again.
 * @returns the folder without links @throws invalid
 */
export async function assertHome(agent_id: string, place: HomePlace, rules: HomeRules): Promise<string> {
  const home = homeOf(rules.service_home, agent_id, place);
  await assertHomeDir(place.home_dir === null ? home : place.home_dir, place.company, rules);
  const real = await realPlace(home);
  if (real === undefined) throw invalid('home_dir must lie in a folder of the company');
  const refused = invalid('home_dir must not lie in the home of an agent, nor hold one');
  if (await isInsideFolder(real, place.other_homes)) throw refused;
  const company = join(rules.service_home, 'companies', place.company.id);
  for (const each of new Set([company, place.company_home_dir ?? company]))
    if (!(await isOutsideDefaultHomes(real, agent_id, resolve(each, 'agents')))) throw refused;
  // Whose home is where homes are by default is not at fault where another's override lies in it.
  if (place.home_dir === null) return real;
  const held = await Promise.all(place.other_homes.map(async (other) => isInsideFolder(other, [real])));
  if (held.includes(true)) throw refused;
  return real;
}

/** Whether it neither holds the folder of all default homes nor lies in one of them; the agent's own is no exception but as a whole. */
async function isOutsideDefaultHomes(home: string, agent_id: string, homes: string): Promise<boolean> {
  if (await isInsideFolder(homes, [home])) return false;
  if (!(await isInsideFolder(home, [homes]))) return true;
  const real = (await realPlace(homes)) ?? homes;
  const way = relative(real, home).split(sep);
  return way.length === 1 && way[0] === agent_id;
}
