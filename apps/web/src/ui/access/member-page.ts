/** One member: role, what that person has created, and the way out. */
import type { CompanyRole, CompanyUser } from '@acp/contract';
import { countCredentials, findCompanyUser, listCredentials } from '@acp/core';
import { notFound } from '@acp/kernel';
import { FieldErrors } from '../kit/field-errors.ts';
import { attributes, html, type Html, when } from '../kit/html.ts';
import { plural, t } from '../kit/language.ts';
import { timeAgo } from '../kit/format.ts';
import { formError, notice, select } from '../kit/parts.ts';
import { moreLink, pageOf } from '../kit/table.ts';
import { accessPage, type CompanyContext, membersPath, roleChoices } from './access-frame.ts';
import { credentialTable, keepBox } from './credential-parts.ts';

export const memberPath = (company_id: string, user_id: string): string =>
  `${membersPath(company_id)}/${user_id}`;

/** For admins: others see the list only. */
export async function memberPage(context: CompanyContext, error: string | null = null): Promise<Html> {
  const { tx, company_id, params, query, user } = context;
  const member = await findCompanyUser(tx, company_id, params.userId!);
  if (!member) throw notFound();
  const made = await listCredentials(tx, member.user_id, company_id, pageOf(query));
  const path = memberPath(company_id, member.user_id);
  const held = (await countCredentials(tx, company_id, [member.user_id])).get(member.user_id) ?? 0;
  const counted = held > 0 ? plural(held, '# key or webhook', '# keys and webhooks') : null;
  const list = when(
    made.items.length > 0,
    () =>
      html`<section class="card">
        <h2>What can outlive the access of ${member.display_name}</h2>
        <p class="soft">
          Keys and webhooks that ${member.display_name} answers for. They end when a role is taken away that
          it takes to create them.
        </p>
        !${credentialTable(made.items)}!${moreLink(path, made.next_cursor, 'Older ones')}
      </section>`,
  );
  const body = html`!${formError(new FieldErrors(error).general)}!${notice(query.done === 'role' ? 'The role has been changed, effective from the next request.' : null)}
  !${roleCard(path, member, held > 0, member.user_id === user.user_id)}!${list}
  !${removeCard(path, member, { counted, is_self: member.user_id === user.user_id })}`;
  return accessPage(context, '', body);
}

function roleCard(
  path: string,
  { display_name, email, role, joined_at }: CompanyUser,
  holds: boolean,
  is_self: boolean,
): Html {
  const choices = roleChoices();
  return html`<form class="card" method="post" action="${path}/role">
    <h2>${display_name}</h2>
    <p class="soft small">${email}, joined !${timeAgo(joined_at)}</p>
    <div class="row">
      !${select({ name: 'role', label: 'Role', value: role satisfies CompanyRole, choices })}
      <input type="hidden" name="page" value="member" /><button>Change</button>
    </div>
    !${when(
      holds,
      () =>
        html`<p class="soft">A lower role revokes what it could not have created.</p>
          !${when(!is_self, () => keepBox())}`,
    )}
  </form>`;
}

function removeCard(
  path: string,
  { display_name }: CompanyUser,
  { counted, is_self }: { counted: string | null; is_self: boolean },
): Html {
  const effect =
    counted === null
      ? t`No keys or webhooks are affected.`
      : t`Revoked immediately with it, unless kept: ${counted}.`;
  const question = is_self ? t`Leave the company?` : t`Remove ${display_name} from the company?`;
  return html`<section class="card danger">
    <h2>${is_self ? t`Leave the company` : t`Remove from the company`}</h2>
    <p>${effect}</p>
    <form method="post" action="${path}/remove" !${attributes({ 'data-confirm': `${question} ${effect}` })}>
      !${when(counted !== null && !is_self, () => keepBox())}
      <button class="danger">${is_self ? t`Leave` : t`Remove`}</button>
    </form>
  </section>`;
}
