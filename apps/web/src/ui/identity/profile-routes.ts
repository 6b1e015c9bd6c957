import { identityEndpoints, type Me, type OwnEmail } from '@acp/contract';
import {
  assertPasswordFor,
  findUser,
  presentMe,
  readOwnEmail,
  type UserModel,
  userModelsOf,
} from '@acp/core';
import { unauthenticated } from '@acp/kernel';
import { asShown } from '../kit/as-shown.ts';
import { FieldErrors } from '../kit/field-errors.ts';
import { timeAgo, timeLeft } from '../kit/format.ts';
import type { FormValues } from '../kit/form-values.ts';
import { each, html, type Html, when } from '../kit/html.ts';
import { t, texts } from '../kit/language.ts';
import { markdown } from '../kit/markdown.ts';
import { formError, input, notice, postButton } from '../kit/parts.ts';
import { shell } from '../kit/shell.ts';
import { action, page, type UiContext, type UiRoute } from '../kit/ui-routes.ts';

const done: Record<string, string> = texts({
  saved: 'Saved.',
  pending: 'Saved. A link is on its way to the new address, which takes effect once you have opened it.',
  sent: 'A new link is on its way.',
  cancelled: 'The change has been cancelled.',
  confirmed: 'Your address has been confirmed.',
});

export async function profilePage(
  context: UiContext<'none'>,
  error: string | null = null,
  form: FormValues | null = null,
): Promise<Html> {
  const { tx, user, query, services } = context;
  const row = await findUser(tx, user.user_id);
  if (!row) throw unauthenticated();
  const known = await userModelsOf(tx, user.user_id);
  const address = await readOwnEmail(tx, user.user_id, services.mailing);
  const said = done[query.done ?? ''] ?? null;
  const refused = { error, form };
  const body = html`!${await profileBody(presentMe(row), address, refused, said)}!${knownBody(known)}`;
  return shell({ title: t`Profile`, user, company: null, active: '/profile', body });
}

async function profileBody(
  me: Me,
  address: OwnEmail,
  { error, form }: { error: string | null; form: FormValues | null },
  said: string | null,
): Promise<Html> {
  const errors = new FieldErrors(error, ['display_name', 'email', 'current_password', 'new_password'], {
    'current password': 'current_password',
  });
  const you = form?.are_changes === true ? form : null;
  const fields = html`<form class="card" method="post" action="/profile">
    <h2>You</h2>
    !${input({ name: 'display_name', label: 'Name', value: you?.sent('display_name') ?? me.display_name, required: true, autocomplete: 'name', error: errors.of('display_name') })}
    !${input({ name: 'email', label: 'E-mail', type: 'email', value: you?.sent('email') ?? me.email, required: true, autocomplete: 'email', hint: addressHint(address), error: errors.of('email') })}
    !${input({ name: 'current_password', id: 'address_password', label: 'Current password', type: 'password', autocomplete: 'current-password', hint: 'For a new address, unless you have just signed in.', error: you && errors.of('current_password') })}
    <button>Save</button>
  </form>`;
  return html`!${formError(errors.general)}!${notice(said)}!${addressBody(address)}!${await asShown(fields, you)}
    <form class="card" method="post" action="/profile/password">
      <h2>Password</h2>
      !${input({ name: 'current_password', label: 'Current password', type: 'password', required: true, autocomplete: 'current-password', error: you ? null : errors.of('current_password') })}
      !${input({ name: 'new_password', label: 'New password (8 characters or more)', type: 'password', required: true, minlength: 8, autocomplete: 'new-password', error: errors.of('new_password') })}
      <button>Change the password</button>
    </form>
    <section class="card">
      <h2>Appearance</h2>
      <p><a href="/profile/appearance">Theme, density, language and time zone</a></p>
    </section>
    <section class="card">
      <h2>Sign-in and security</h2>
      <p><a href="/profile/security">Second factor, passkeys, recovery codes and sessions</a></p>
    </section>
    <section class="card">
      <h2>Slack and Telegram</h2>
      <p><a href="/profile/channels">Bots that know you, and what they notify you of</a></p>
    </section>`;
}

function addressHint({ by_mail, verified_at }: OwnEmail): string {
  if (!by_mail) return t`A new address ends your other sessions.`;
  const state = verified_at === null ? t`Not confirmed yet.` : t`Confirmed.`;
  return t`${state} A new one gets a link, and replaces it once you have opened that.`;
}

/** The pending confirmation; empty if the instance sends no mail. */
function addressBody({ by_mail, email, verified_at, pending_email, link_expires_at }: OwnEmail): Html {
  const waits = pending_email ?? (verified_at === null ? email : null);
  if (!by_mail || waits === null) return html``;
  const until = link_expires_at && new Date(link_expires_at);
  return html`<section class="card" aria-labelledby="confirm-address">
    <h2 id="confirm-address">Confirm ${pending_email === null ? t`your address` : t`your new address`}</h2>
    <p>
      !${until && until > new Date() ? html`A link was sent to <strong>${waits}</strong> (!${timeLeft(until)}).` : html`<strong>${waits}</strong> is not confirmed.`}
      !${when(pending_email, () => html`Until then your address is ${email}.`)}
    </p>
    <div class="row">
      !${postButton('/profile/email/resend', 'Send a new link', { class: '' })}!${when(pending_email, () =>
        postButton('/profile/email/cancel', 'Keep my current address'),
      )}
    </div>
  </section>`;
}

/** Shows users what agents have written down about them. */
function knownBody(known: readonly UserModel[]): Html {
  return when(
    known.length > 0,
    () =>
      html`<section class="card">
        <h2>What agents have noted about you</h2>
        <p class="soft">They read it when you ask them for work. Tell them in a comment what to change.</p>
        !${each(
          known,
          ({ company_name, body_markdown, private_markdown, agent_name, updated_at }) =>
            html`<h3>${company_name}</h3>
              !${when(body_markdown, () => html`<div class="prose">!${markdown(body_markdown)}</div>`)}
              !${when(
                private_markdown,
                (text) =>
                  html`<h4>In your chats</h4>
                    <p class="soft small">They read it in your chats only, which nobody else can see.</p>
                    <div class="prose">!${markdown(text)}</div>`,
              )}
              <p class="soft small">${agent_name ?? t`an agent`}, !${timeAgo(updated_at)}</p>`,
        )}
      </section>`,
  );
}

export const profileRoutes: UiRoute[] = [
  page('/profile', { scope: { by: 'none' }, role: 'none' }, (c) => profilePage(c)),
  action('/profile', identityEndpoints.updateMe, {
    read: (form) => ({
      display_name: form.sent('display_name'),
      email: form.sent('email'),
      current_password: form.given('current_password'),
    }),
    edits: (c) => profilePage(c),
    // Users who changed their address learn where it awaits confirmation.
    next: (_c, me, form) =>
      form.given('email') === undefined || form.given('email') === me.email
        ? '/profile?done=saved'
        : '/profile?done=pending',
    failed: profilePage,
  }),
  action('/profile/password', identityEndpoints.changePassword, {
    read: (form) => ({
      current_password: form.text('current_password'),
      new_password: form.text('new_password'),
    }),
    check: (c, form) => assertPasswordFor(c.tx, c.user.user_id, form.text('new_password')),
    next: () => '/profile?done=saved',
    failed: profilePage,
  }),
];
