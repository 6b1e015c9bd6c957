import { invalid, isInsideFolder } from '@acp/kernel';
import { isAbsolute, join } from 'node:path';

/** Where homes of companies and agents may be, according to the operator (decisions 7.32). */
export interface HomeRules {
  /** `SERVICE_HOME`. */
  service_home: string;
  /** `SERVICE_HOME_ROOTS`: folders by company id or slug. */
  assigned: Readonly<Record<string, readonly string[]>>;
}

/**
 * The folder must resolve, following links, to a location inside the company's own folder or one assigned to it by the operator.
 * Links may change later, so users of the folder check again. @throws invalid
 */
export async function assertHomeDir(
  home_dir: string,
  company: { id: string; slug: string },
  rules: HomeRules,
): Promise<void> {
  const roots = [
    join(rules.service_home, 'companies', company.id),
    ...assignedTo(company.id, rules),
    ...assignedTo(company.slug, rules),
  ];
  const inside = isAbsolute(home_dir) && (await isInsideFolder(home_dir, roots));
  if (!inside) throw invalid('home_dir must be inside a folder of the company');
}

// A slug may be any word, even `constructor`.
function assignedTo(company: string, { assigned }: HomeRules): readonly string[] {
  return Object.hasOwn(assigned, company) ? (assigned[company] ?? []) : [];
}
