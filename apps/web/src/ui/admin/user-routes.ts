import {
  identityEndpoints as rows,
  type MadeCredential,
  secondFactorEndpoints,
  type User,
} from '@acp/contract';
import {
  assertPasswordFor,
  findUser,
  listCredentials,
  mailsLinks,
  pendingEmail,
  presentUser,
} from '@acp/core';
import type { Page } from '@acp/db';
import { notFound } from '@acp/kernel';
import { credentialTable, keepBox, keptQuery } from '../access/credential-parts.ts';
import { asShown } from '../kit/as-shown.ts';
import { FieldErrors } from '../kit/field-errors.ts';
import { timeAgo, words } from '../kit/format.ts';
import type { FormValues } from '../kit/form-values.ts';
import { attributes, html, type Html, when } from '../kit/html.ts';
import { t, texts } from '../kit/language.ts';
import { checkbox, formError, input, notice, postButton, select, status } from '../kit/parts.ts';
import { shell } from '../kit/shell.ts';
import { moreLink, pageOf } from '../kit/table.ts';
import { action, page, type UiContext, type UiRoute } from '../kit/ui-routes.ts';

const instance = { scope: { by: 'none' }, role: 'instance_admin' } as const;
const LIST = '/admin/users';

type Section = 'account' | 'password' | 'delete';
interface Refused {
  section: Section;
  error: string;
  form: FormValues;
}

const done: Record<string, string> = texts({
  saved: 'Saved.',
  pending: 'Saved. A link is on its way to the new address, which takes effect once the user has opened it.',
  password: 'The password has been set; the user can sign in with it.',
  factor: 'The second factor has been removed; the user can sign in without one.',
});

async function userPage(context: UiContext<'none'>, refused: Refused | null = null): Promise<Html> {
  const { tx, user, params, query } = context;
  const row = await findUser(tx, params.userId!);
  if (!row) throw notFound();
  const shown = presentUser(row);
  const is_self = shown.id === user.user_id;
  const made = await listCredentials(tx, shown.id, null, pageOf(query));
  const holds = made.items.length > 0 && !is_self;
  const address = addressState(row.email_verified_at, await pendingEmail(tx, row));
  const hint = mailsLinks(context.services.mailing)
    ? t`${address} A new one takes effect once the user has confirmed it.`
    : t`A new address ends the user’s sessions`;
  const body = html`!${notice(done[query.done ?? ''])}!${await accountForm(shown, { is_self, hint, holds }, refused)}
  !${passwordForm(shown, refused)}!${when(!is_self, () => html`!${factorPart(shown)}!${credentialPart(shown, made)}!${deletePart(shown, holds, refused)}`)}`;
  return shell({
    title: shown.display_name,
    user,
    company: null,
    active: LIST,
    trail: [{ label: t`Users`, path: LIST }],
    body,
  });
}

function addressState(verified_at: Date | null, pending: string | null): string {
  const state = verified_at === null ? t`Not confirmed.` : t`Confirmed.`;
  return pending === null ? state : t`${state} ${pending} is waiting to replace it.`;
}

async function accountForm(
  user: User,
  { is_self, hint, holds }: { is_self: boolean; hint: string; holds: boolean },
  refused: Refused | null,
): Promise<Html> {
  const form = refused?.section === 'account' ? refused.form : null;
  const errors = new FieldErrors(form && refused ? refused.error : null, ['display_name', 'email']);
  const roles = ['member', 'admin'].map((value) => ({ value, label: words(value) }));
  // Admins cannot demote or lock out themselves.
  const rights = is_self
    ? html`<p class="soft">Only another administrator can change your role and state.</p>`
    : html`!${select({ name: 'instance_role', label: 'Role in this instance', value: form?.sent('instance_role') ?? user.instance_role, choices: roles })}
      !${checkbox({ name: 'is_active', label: 'Can sign in', checked: form?.ticked('is_active') ?? user.is_active })}
      !${when(
        holds,
        () =>
          html`<p class="soft">A lower role, or no sign-in, revokes the keys and webhooks listed below.</p>
            !${keepBox()}`,
      )}`;
  const fields = html`<form class="card" method="post" action="${LIST}/${user.id}">
    <h2>Account !${status(user.is_active ? 'active' : 'disabled')}</h2>
    <p class="soft small">
      Created !${timeAgo(user.created_at)}, last login !${timeAgo(user.last_login_at)}.
    </p>
    !${formError(errors.general)}
    <div class="row">
      !${input({ name: 'display_name', label: 'Name', required: true, value: form?.sent('display_name') ?? user.display_name, error: errors.of('display_name') })}
      !${input({ name: 'email', label: 'E-mail', type: 'email', required: true, value: form?.sent('email') ?? user.email, hint, error: errors.of('email') })}
    </div>
    !${rights}
    <button>Save</button>
  </form>`;
  return asShown(fields, form);
}

function passwordForm(user: User, refused: Refused | null): Html {
  const errors = new FieldErrors(refused?.section === 'password' ? refused.error : null, ['new_password']);
  return html`<form class="card" method="post" action="${LIST}/${user.id}/password">
    <h2>Set a password</h2>
    !${formError(errors.general)}
    <div class="row">
      !${input({ name: 'new_password', label: 'New password', type: 'password', required: true, minlength: 8, autocomplete: 'new-password', hint: '8 characters or more; the user’s sessions end', error: errors.of('new_password') })}
      <button>Set password</button>
    </div>
  </form>`;
}

function factorPart(user: User): Html {
  return html`<section class="card">
    <h2>Second factor</h2>
    <p>
      For users who have lost their app, passkeys and recovery codes: all are removed, and their sessions end.
    </p>
    !${postButton(`${LIST}/${user.id}/reset-second-factor`, 'Remove the second factor', { class: 'danger small', confirm: t`Remove the second factor of ${user.display_name}?` })}
  </section>`;
}

/** What works without the user, and ends with the user's rights. */
function credentialPart(user: User, { items, next_cursor }: Page<MadeCredential>): Html {
  return when(
    items.length > 0,
    () =>
      html`<section class="card">
        <h2>What can outlive the access of ${user.display_name}</h2>
        !${credentialTable(items)}!${moreLink(`${LIST}/${user.id}`, next_cursor, 'Older ones')}
      </section>`,
  );
}

function deletePart(user: User, holds: boolean, refused: Refused | null): Html {
  const errors = new FieldErrors(refused?.section === 'delete' ? refused.error : null);
  return html`<section class="card danger">
    <h2>Delete the account</h2>
    <p>
      Sessions and memberships are removed permanently. What the user wrote stays. To keep the account,
      disable its sign-in instead.
    </p>
    !${formError(errors.general)}
    <form
      method="post"
      action="${LIST}/${user.id}/delete"
      !${attributes({ 'data-confirm': t`Delete the account of ${user.display_name}?` })}
    >
      !${when(
        holds,
        () =>
          html`<p>The keys and webhooks listed above are revoked as well.</p>
            !${keepBox()}`,
      )}
      <button class="danger">Delete permanently</button>
    </form>
  </section>`;
}

const refusedIn = (section: Section) => (context: UiContext<'none'>, error: string, form: FormValues) =>
  userPage(context, { section, error, form });

export const userRoutes: UiRoute[] = [
  page(`${LIST}/{userId}`, instance, (c) => userPage(c)),
  action(`${LIST}/{userId}`, rows.updateUser, {
    read: (form) => ({
      display_name: form.has('display_name') ? form.text('display_name') : undefined,
      email: form.has('email') ? form.text('email') : undefined,
      instance_role: form.given('instance_role'),
      is_active: form.has('is_active') ? form.checked('is_active') : undefined,
      keep_keys: form.checked('keep_keys') || undefined,
    }),
    edits: (c) => userPage(c),
    next: (c, user, form) => {
      const waits = form.given('email') !== undefined && form.given('email') !== user.email;
      return `${LIST}/${c.params.userId!}?done=${waits ? 'pending' : 'saved'}`;
    },
    failed: refusedIn('account'),
  }),
  action(`${LIST}/{userId}/password`, rows.resetPassword, {
    read: (form) => ({ new_password: form.text('new_password') }),
    check: (c, form) => assertPasswordFor(c.tx, c.params.userId!, form.text('new_password')),
    next: (c) => `${LIST}/${c.params.userId!}?done=password`,
    failed: refusedIn('password'),
  }),
  action(`${LIST}/{userId}/reset-second-factor`, secondFactorEndpoints.reset, {
    next: (c) => `${LIST}/${c.params.userId!}?done=factor`,
    failed: refusedIn('account'),
  }),
  action(`${LIST}/{userId}/delete`, rows.deleteUser, {
    query: keptQuery,
    next: () => `${LIST}?done=deleted`,
    failed: refusedIn('delete'),
  }),
];
