import { invalid, isInsideFolder } from '@acp/kernel';
import { isAbsolute, join } from 'node:path';

/** Where homes of companies and agents may be, according to the operator (decisions 7.32). */
export interface HomeRules {
  /** `SERVICE_HOME`. */
  service_home: string;
  /** `SERVICE_HOME_ROOTS`: folders by company id or slug. */
  assigned: Readonly<Record<string, readonly string[]>>;
}

/** The company's own folder and what is in it. In workspaces and repositories the service itself runs git, and cleans up. */
export function companyFolders(service_home: string, company_id: string) {
  const own = join(service_home, 'companies', company_id);
  return {
    own,
    /** Default homes. */
    agents: join(own, 'agents'),
    workspaces: join(own, 'workspaces'),
    repositories: join(own, 'repositories'),
    /** Homes of runs that only one person may see. */
    private_runs: join(own, 'private-runs'),
  };
}

/**
 * The folder must resolve, following links, to a location inside the company's own folder or one assigned to it by the operator,
 * and apart from what the service keeps there. Links may change later, so users of the folder check again. @throws invalid
 */
export async function assertHomeDir(
  home_dir: string,
  company: { id: string; slug: string },
  rules: HomeRules,
): Promise<void> {
  const { own, workspaces, repositories, private_runs } = companyFolders(rules.service_home, company.id);
  const roots = [own, ...assignedTo(company.id, rules), ...assignedTo(company.slug, rules)];
  const inside = isAbsolute(home_dir) && (await isInsideFolder(home_dir, roots));
  if (!inside) throw invalid('home_dir must be inside a folder of the company');
  if (await isInsideFolder(home_dir, [workspaces, repositories, private_runs]))
    throw invalid('home_dir must not be inside the folder of workspaces or repositories, or of private runs');
}

// A slug may be any word, even `constructor`.
function assignedTo(company: string, { assigned }: HomeRules): readonly string[] {
  return Object.hasOwn(assigned, company) ? (assigned[company] ?? []) : [];
}
