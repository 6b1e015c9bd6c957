/** Resolves names in rendered texts: queries the company only if the page has any. */
import { companyNames } from '@acp/core';
import type { Tx } from '@acp/db';
import { html, type Html } from './html.ts';

const REFERENCE = /<a class="ref" href="\/refs\/([^"]+)"[^>]*>([^<]*)<\/a>/g;

/** Issues by identifier, agents by name, case-insensitively; unknown names become plain text again. */
export async function resolveReferences(tx: Tx, company_id: string, page: Html): Promise<Html> {
  const named = new Set([...page.matchAll(REFERENCE)].map(([, name]) => decodeURIComponent(name!)));
  if (named.size === 0) return page;
  const identifiers = [...named].filter((name) => !name.startsWith('@'));
  const { agents, issues } = await namesOf(tx, company_id, identifiers);
  return page.replaceAll(REFERENCE, (_all, name: string, text: string) => {
    const reference = decodeURIComponent(name);
    if (reference.startsWith('@')) {
      const id = agents.get(reference.slice(1).toLowerCase());
      return id === undefined ? text : html`<a class="ref" href="/agents/${id}">!${text}</a>`;
    }
    const issue = issues.get(reference);
    if (issue === undefined) return text;
    const { id, title, status } = issue;
    return html`<a class="ref" href="/issues/${id}" title="${title}" data-status="${status}">!${text}</a>`;
  });
}

/** Outside of a company nothing is resolved. */
const namesOf = async (tx: Tx, company_id: string, identifiers: readonly string[]) =>
  company_id === '' ? { agents: new Map(), issues: new Map() } : companyNames(tx, company_id, identifiers);
