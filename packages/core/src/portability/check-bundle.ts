/** Requirements of a bundle beyond its shape, checked before anything is written. Pure: no tx, no clock. */
import { type Actor, type BundleOf, type CompanyBundle } from '@acp/contract';
import { assertZone, invalid, said } from '@acp/kernel';
import { type AdapterRules, assertAdapter } from '../agents/index.ts';
import { isKey } from '../documents/index.ts';
import { assertBackend, assertRepository } from '../projects/index.ts';
import { assertBaseUrl, type ProviderRules } from '../providers/index.ts';
import { parseCron } from '../settings/index.ts';
import { checkRelations, checkTrees } from './bundle-graphs.ts';
import { at, indexNames, keyOf, listOf, type NamedList, placeOf } from './bundle-places.ts';

export interface BundleRules {
  adapters: AdapterRules;
  providers: ProviderRules;
}

type Names = Record<NamedList, ReadonlyMap<string, number>>;

/** @param company_id '' for a company yet to be created. @throws invalid that begins with the place of the error */
export function checkBundle(
  actor: Actor,
  company_id: string,
  bundle: CompanyBundle,
  rules: BundleRules,
): void {
  const names = indexNames(bundle);
  checkReferences(bundle, names);
  checkTrees(bundle);
  checkRelations(bundle);
  checkProviders(bundle, rules.providers);
  const configure = (place: string, adapter_type: string, adapter_config: Record<string, unknown>) =>
    at(place, () => assertAdapter(actor, company_id, {}, { adapter_type, adapter_config }, rules.adapters));
  const { agent_defaults } = bundle.company;
  if (agent_defaults)
    configure(
      'bundle.company.agent_defaults',
      agent_defaults.adapter_type || 'llm',
      agent_defaults.adapter_config ?? {},
    );
  for (const [index, agent] of listOf(bundle, 'agents').entries())
    configure(placeOf('agents', index), agent.adapter_type || 'llm', agent.adapter_config ?? {});
  for (const [index, project] of listOf(bundle, 'projects').entries())
    at(placeOf('projects', index), () => {
      const { repo_url, base_branch, branch_template } = project;
      assertBackend(project);
      assertRepository(actor, company_id, null, { repo_url, base_branch, branch_template });
    });
  for (const [index, routine] of listOf(bundle, 'routines').entries()) checkTriggers(index, routine);
  for (const [index, issue] of listOf(bundle, 'issues').entries()) checkDocuments(index, issue);
}

function checkReferences(bundle: CompanyBundle, names: Names): void {
  const known = (place: string, list: NamedList, name: string | null | undefined) => {
    if (name !== null && name !== undefined && !names[list].has(keyOf(list, name)))
      throw invalid(said`${place}: there is no such entry in bundle.${list}`);
  };
  for (const [index, agent] of listOf(bundle, 'agents').entries()) {
    known(placeOf('agents', index, 'reports_to'), 'agents', agent.reports_to);
    known(placeOf('agents', index, 'provider_label'), 'providers', agent.provider_label);
    for (const [i, slug] of (agent.skills ?? []).entries())
      known(placeOf('agents', index, `skills.${i}`), 'skills', slug);
  }
  for (const [index, goal] of listOf(bundle, 'goals').entries()) {
    known(placeOf('goals', index, 'parent'), 'goals', goal.parent);
    known(placeOf('goals', index, 'owner'), 'agents', goal.owner);
  }
  for (const [index, project] of listOf(bundle, 'projects').entries()) {
    known(placeOf('projects', index, 'goal'), 'goals', project.goal);
    known(placeOf('projects', index, 'lead'), 'agents', project.lead);
  }
  for (const [index, routine] of listOf(bundle, 'routines').entries()) {
    known(placeOf('routines', index, 'assignee'), 'agents', routine.assignee);
    known(placeOf('routines', index, 'project'), 'projects', routine.project);
    known(placeOf('routines', index, 'goal'), 'goals', routine.goal);
  }
  for (const [index, note] of listOf(bundle, 'notes').entries())
    known(placeOf('notes', index, 'issue'), 'issues', note.issue);
  for (const [index, { scope_type, scope }] of listOf(bundle, 'budget_policies').entries()) {
    const place = placeOf('budget_policies', index, 'scope');
    if ((scope_type === 'company') !== (scope === undefined || scope === null))
      throw invalid(
        said`${place} must name the ${scope_type === 'company' ? 'company by null' : scope_type}`,
      );
    known(place, scope_type === 'project' ? 'projects' : 'agents', scope);
  }
  for (const [index, issue] of listOf(bundle, 'issues').entries()) checkIssueReferences(index, issue, known);
}

function checkIssueReferences(
  index: number,
  issue: BundleOf<'issues'>,
  known: (place: string, list: NamedList, name: string | null | undefined) => void,
): void {
  known(placeOf('issues', index, 'project'), 'projects', issue.project);
  known(placeOf('issues', index, 'goal'), 'goals', issue.goal);
  known(placeOf('issues', index, 'parent'), 'issues', issue.parent);
  known(placeOf('issues', index, 'assignee'), 'agents', issue.assignee);
  for (const [i, name] of (issue.labels ?? []).entries())
    known(placeOf('issues', index, `labels.${i}`), 'labels', name);
  for (const [i, { target }] of (issue.relations ?? []).entries())
    known(placeOf('issues', index, `relations.${i}.target`), 'issues', target);
  for (const [i, { author }] of (issue.comments ?? []).entries())
    known(placeOf('issues', index, `comments.${i}.author`), 'agents', author);
}

function checkProviders(bundle: CompanyBundle, rules: ProviderRules): void {
  const designated = { embeddings: false, is_default: false };
  for (const [index, provider] of listOf(bundle, 'providers').entries()) {
    const { base_url, adapter_type, default_model, is_default = false } = provider;
    if (base_url) at(placeOf('providers', index), () => assertBaseUrl(base_url, rules));
    else if (adapter_type === 'family_compat')
      throw invalid(said`${placeOf('providers', index, 'base_url')} is required for family_compat`);
    if (is_default && !default_model)
      throw invalid(said`${placeOf('providers', index, 'is_default')} needs a default_model`);
    for (const role of ['embeddings', 'is_default'] as const) {
      if (provider[role] !== true) continue;
      if (designated[role])
        throw invalid(said`${placeOf('providers', index, role)}: another provider has it`);
      designated[role] = true;
    }
  }
}

function checkTriggers(index: number, { triggers = [] }: BundleOf<'routines'>): void {
  for (const [i, trigger] of triggers.entries()) {
    const place = placeOf('routines', index, `triggers.${i}`);
    const { kind, cron_expression, timezone, signing_mode = 'none' } = trigger;
    if (kind === 'webhook') {
      if (cron_expression || timezone)
        throw invalid(said`${place}: cron_expression and timezone belong to a schedule`);
      continue;
    }
    if (!cron_expression) throw invalid(said`${place}.cron_expression is required for a schedule`);
    if (signing_mode !== 'none') throw invalid(said`${place}.signing_mode: only webhooks are signed`);
    at(place, () => parseCron(cron_expression));
    if (timezone) at(place, () => assertZone(timezone));
  }
}

function checkDocuments(index: number, { documents = [] }: BundleOf<'issues'>): void {
  const keys = new Set<string>();
  for (const [i, { key }] of documents.entries()) {
    const place = placeOf('issues', index, `documents.${i}.key`);
    if (!isKey(key)) throw invalid(said`${place} is not a document key`);
    if (keys.has(key)) throw invalid(said`${place} is listed twice`);
    keys.add(key);
  }
}
