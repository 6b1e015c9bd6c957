import type { KnowledgePassage } from '@acp/contract';
import { knowledgeState, type KnowledgeState } from '@acp/core';
import { searchFor } from '../../knowledge/search.ts';
import { roleIn } from '../../http/roles.ts';
import { companyPage } from '../kit/company-frame.ts';
import { words } from '../kit/format.ts';
import { each, html, type Html, when } from '../kit/html.ts';
import { plural, say, t, texts } from '../kit/language.ts';
import { markdown } from '../kit/markdown.ts';
import { emptyState, input } from '../kit/parts.ts';
import { page, type UiContext, type UiRoute } from '../kit/ui-routes.ts';

const SHOWN = 20;

const label: Record<KnowledgePassage['source_type'], string> = texts({
  note: 'note',
  finding: 'finding',
  document: 'document',
  attachment: 'file',
  issue: 'closed issue',
  agent_file: 'file of an agent',
});

async function knowledgePage(context: UiContext<'company'>): Promise<Html> {
  const { tx, company_id, query } = context;
  const path = `/companies/${company_id}/knowledge`;
  const q = query.q?.replaceAll('\0', '').trim().slice(0, 2000) ?? '';
  const found = await searchFor({ ...context, actor: context.user }, q, SHOWN);
  const state = await knowledgeState(tx, company_id);
  const body = html`<form class="filters row" method="get" action="${path}" role="search">
      !${input({ name: 'q', label: 'Search all knowledge', type: 'search', value: q, hint: 'A question or words' })}
      <button>Search</button>
    </form>
    !${q === '' || found.length > 0 ? each(found, result) : emptyState('Nothing found', html`Try other words.`)}
    !${extent(state)}!${when(roleIn(context.user, company_id) === 'admin' && state.error, (error) => html`<p class="soft small">Only full-text search works until embeddings are computed again: ${say(error)}.</p>`)}`;
  return companyPage(context, { title: t`Search`, active: path, body });
}

function result({ source_type, title, text, url }: KnowledgePassage): Html {
  return html`<article class="card">
    <h2><a href="${url}">${title}</a></h2>
    <p class="soft small">${words(label[source_type])}</p>
    !${markdown(text)}
  </article>`;
}

function extent({ sources, passages, waiting, cut }: KnowledgeState): Html {
  if (sources === 0)
    return html`<p class="soft">
      Notes, findings, documents, texts of attached files and outcomes of closed issues can be found here.
      There are none yet.
    </p>`;
  return html`<p class="soft small">
    ${plural(passages, '# passage', '# passages')} of ${plural(sources, '# source', '# sources')}: notes,
    findings, documents, texts of files, closed issues.
    !${when(waiting > 0, () => html`${plural(waiting, '# has changed and is being read.', '# have changed and are being read.')}`)}
    !${when(cut > 0, () => html`${plural(cut, '# is too long to be read in full.', '# are too long to be read in full.')}`)}
  </p>`;
}

export const knowledgeRoutes: UiRoute[] = [
  page(
    '/companies/{companyId}/knowledge',
    { scope: { by: 'company', param: 'companyId' }, role: 'viewer' },
    (c) => knowledgePage(c),
  ),
];
