import { listActivity } from '@acp/core';
import { roleIn } from '../../http/roles.ts';
import { companyPage } from '../kit/company-frame.ts';
import { exactTime, words } from '../kit/format.ts';
import { each, html, type Html } from '../kit/html.ts';
import { t } from '../kit/language.ts';
import { emptyState, select } from '../kit/parts.ts';
import { moreLink, pageOf } from '../kit/table.ts';
import { page, type UiContext, type UiRoute } from '../kit/ui-routes.ts';
import { activityLine } from './activity-line.ts';

const byCompany = { by: 'company', param: 'companyId' } as const;

/** The types people look for; the rest is under `everything`. */
const types =
  'issue comment run agent approval project goal note skill routine provider secret budget_policy company invite'.split(
    ' ',
  );

async function activityPage(context: UiContext<'company'>): Promise<Html> {
  const { tx, user, company_id, query } = context;
  const is_admin = roleIn(user, company_id) === 'admin';
  const path = `/companies/${company_id}/activity`;
  const type = types.find((known) => known === query.type);
  const filter = type === undefined ? {} : { entity_type: type };
  const { items, next_cursor } = await listActivity(tx, company_id, { ...pageOf(query), ...filter });
  const choices = [
    { value: '', label: t`everything` },
    ...types.map((value) => ({ value, label: words(value) })),
  ];
  const list =
    items.length > 0
      ? html`<section class="card">
          <ol class="timeline flat">
            !${each(items, (entry) => activityLine(entry, is_admin, exactTime))}
          </ol>
          !${moreLink(type === undefined ? path : `${path}?type=${type}`, next_cursor, 'Earlier')}
        </section>`
      : emptyState('No activity', html`What people and agents do is listed here.`);
  const body = html`<form class="filters row" method="get" action="${path}" data-autosubmit>
      !${select({ name: 'type', label: 'What', value: type ?? '', choices })}
      <button class="quiet">Show</button>
    </form>
    !${list}`;
  return companyPage(context, { title: t`Activity`, active: path, body });
}

export const activityRoutes: UiRoute[] = [
  page('/companies/{companyId}/activity', { scope: byCompany, role: 'viewer' }, activityPage),
];
