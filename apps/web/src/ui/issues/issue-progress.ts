/** How far the issues of something are: how many of each status, each number leading to the list of them. */
import { type IssueStatus, issueStatuses, type ViewFilter } from '@acp/contract';
import { MOST_COUNTED } from '@acp/core';
import { limitMeter } from '../costs/figures.ts';
import { count as inWords, countUpTo } from '../kit/format.ts';
import { each, html, type Html, plural, t } from '../kit/html.ts';
import { status } from '../kit/parts.ts';
import { pathWith } from './issue-filter.ts';

export interface Count {
  status: IssueStatus;
  count: number;
}

/** @param filter that finds the issues @param counts of at least one */
export function issueProgress(company_id: string, filter: ViewFilter, counts: readonly Count[]): Html {
  const list = `/companies/${company_id}/issues`;
  const of = new Map(counts.map(({ status: value, count }) => [value, count]));
  const sum = (...statuses: readonly IssueStatus[]): number =>
    statuses.reduce((total, value) => total + (of.get(value) ?? 0), 0);
  // What was cancelled is no longer to be done.
  const total = sum(...issueStatuses) - sum('cancelled');
  const done = sum('done');
  const share = (part: number): number => (total === 0 ? 0 : (100 * part) / total);
  // Beyond what is counted, no share of the whole is known.
  const isMore = counts.some(({ count }) => count > MOST_COUNTED);
  const said = isMore
    ? t`more than ${inWords(MOST_COUNTED)} issues`
    : plural(total, '{0} of # issue done', '{0} of # issues done', done);
  return html`<p>
      <strong>${said}</strong>
      <span class="soft">${t`${sum('in_progress', 'in_review')} under way`}</span>
    </p>
    !${isMore ? '' : limitMeter({ label: said, spent: share(done), reserved: share(sum('in_progress', 'in_review')), warn: 100, level: 'within_limit' })}
    <ul class="counts">
      !${each(
        issueStatuses.filter((value) => of.has(value)),
        (value) =>
          html`<li>
            <a href="${pathWith(list, { ...filter, status: [value] })}"
              >!${status(value)} <span class="number">${countUpTo(MOST_COUNTED, of.get(value)!)}</span></a
            >
          </li>`,
      )}
    </ul>
    <p class="more">
      <a href="${pathWith(`/companies/${company_id}/board`, filter)}">On the board</a> ·
      <a href="${pathWith(list, filter)}">As a list</a>
    </p>`;
}
