/** A user's second factors, and where the user is signed in. */
import type { NewTotp, Passkey, SecondFactors, Session } from '@acp/contract';
import { renderSVG } from 'uqr';
import { assetPath } from '../kit/assets.ts';
import { timeAgo } from '../kit/format.ts';
import { html, type Html, when } from '../kit/html.ts';
import { plural, t, texts } from '../kit/language.ts';
import { formError, input, notice, postButton } from '../kit/parts.ts';
import { type Column, table } from '../kit/table.ts';
import type { BrowserNames } from './browser-names.ts';

export const SECURITY_PAGE = '/profile/security';

interface SecurityView {
  factors: SecondFactors;
  sessions: readonly Session[];
  browsers: BrowserNames;
  /** An authenticator app that awaits its first code. */
  pending: NewTotp | null;
  /** Shown only once. */
  recovery_codes: readonly string[] | null;
  passkeys_possible: boolean;
  must_enrol: boolean;
  error: string | null;
  done: string | null;
}

export function securityBody(view: SecurityView): Html {
  const { error, done, must_enrol } = view;
  return html`!${when(must_enrol, () => html`<p class="notice" role="status">A second factor is required here. Set one up to continue.</p>`)}
    !${notice(done)}!${formError(error)}!${codesPart(view)}!${appPart(view)}!${passkeyPart(view)}
    !${recoveryPart(view)}!${sessionPart(view)}
    <script src="${assetPath('passkeys.js')}" type="module"></script>`;
}

const again = (): Html =>
  html`<p class="soft small">
    Changes sign you out everywhere else. They need a sign-in of the last 15 minutes:
    <a href="/login?next=!${encodeURIComponent(SECURITY_PAGE)}">sign in again</a> if they are refused.
  </p>`;

/** Filled in by the script if registering a passkey created the codes. */
function codesPart({ recovery_codes: codes }: SecurityView): Html {
  return html`<section class="notice once" data-recovery-codes tabindex="-1" !${codes ? '' : 'hidden'}>
    <h2>Your recovery codes</h2>
    <p>Each signs you in once if you lose your second factor. They are shown only once: keep them safe.</p>
    <pre><code>${(codes ?? []).join('\n')}</code></pre>
    <p><a href="${SECURITY_PAGE}">I have saved them</a></p>
  </section>`;
}

function appPart({ factors: { totp }, pending }: SecurityView): Html {
  const begin = postButton(`${SECURITY_PAGE}/totp`, 'Set up an app', { class: '' });
  const remove = postButton(`${SECURITY_PAGE}/totp/remove`, 'Remove the app', {
    class: 'danger small',
    confirm: 'Remove the authenticator app?',
  });
  return html`<section class="card">
    <h2>Authenticator app</h2>
    !${
      totp
        ? html`<p>An app is set up: sign-in asks for its code.</p>
            !${remove}`
        : pending
          ? confirmForm(pending)
          : html`<p>A code from an app on your phone, asked for at every sign-in.</p>
              !${begin}`
    }
    !${again()}
  </section>`;
}

function confirmForm({ secret, otpauth_url }: NewTotp): Html {
  // The policy permits images of this form, but no inline styles.
  const image = `data:image/svg+xml,${encodeURIComponent(renderSVG(otpauth_url))}`;
  return html`<p>Scan this with the app, or type the secret into it; then enter the code that it shows.</p>
    <p><img src="${image}" alt="QR code of the secret" width="200" height="200" /></p>
    <p><code>${secret.replaceAll(/(.{4})(?=.)/g, '$1 ')}</code></p>
    <form method="post" action="${SECURITY_PAGE}/totp/confirm" class="row">
      !${input({ name: 'code', label: 'Code', required: true, minlength: 6, inputmode: 'numeric', autocomplete: 'one-time-code' })}
      <button>Confirm</button>
    </form>`;
}

const passkeyColumns: Column<Passkey>[] = [
  { label: 'Name', cell: ({ name }) => html`${name}` },
  {
    label: 'Stored',
    cell: ({ backed_up }) => html`${backed_up ? t`synced across your devices` : t`on one device`}`,
  },
  { label: 'Added', cell: ({ created_at }) => timeAgo(created_at) },
  { label: 'Last used', cell: ({ last_used_at }) => timeAgo(last_used_at) },
  {
    label: 'Remove',
    kind: 'acts',
    cell: ({ id, name }) =>
      postButton(`${SECURITY_PAGE}/passkeys/${id}/remove`, 'Remove', {
        class: 'danger small',
        confirm: t`Remove the passkey ${name}?`,
      }),
  },
];

function passkeyPart({ factors: { passkeys }, passkeys_possible }: SecurityView): Html {
  // The script shows it, in a browser that can.
  const form = html`<form class="row" hidden>
    !${input({ name: 'name', label: 'Name of the passkey', value: '', hint: 'Which device or password manager it is in' })}
    <div>
      <button data-passkey="add">Add a passkey</button>
      <p class="error" role="alert" data-passkey-error hidden></p>
    </div>
  </form>`;
  return html`<section class="card">
    <h2>Passkeys</h2>
    <p>A key on your device, unlocked by finger, face or PIN. It signs you in without a password.</p>
    !${when(passkeys.length > 0, () => table('Passkeys', passkeyColumns, passkeys))}
    !${passkeys_possible ? form : html`<p class="soft">Passkeys need https and a host name in the address of this service.</p>`}
  </section>`;
}

function recoveryPart({ factors: { recovery_codes_left: left, totp, passkeys } }: SecurityView): Html {
  return when(
    totp || passkeys.length > 0,
    () =>
      html`<section class="card">
        <h2>Recovery codes</h2>
        <p>
          ${left === 0 ? t`None is left.` : plural(left, '# is left.', '# are left.')} New ones replace them.
        </p>
        !${postButton(`${SECURITY_PAGE}/recovery-codes`, 'Create new codes', { class: 'quiet', confirm: 'Create new recovery codes? The current ones stop working.' })}
      </section>`,
  );
}

const methodNames: Record<string, string> = texts({
  password: 'Password',
  passkey: 'Passkey',
  google: 'Google',
  github: 'GitHub',
  oidc: 'Single sign-on',
});

/** The whole of what a browser said is shown on hover: it tells two of the same kind apart. */
const sessionColumns = (browsers: BrowserNames): Column<Session>[] => [
  {
    label: 'Browser',
    cell: ({ user_agent, current }) =>
      html`<span title="${user_agent ?? ''}">${browsers(user_agent) ?? t`unknown`}</span
        >!${when(current, () => html` <strong>(this one)</strong>`)}`,
  },
  { label: 'From', cell: ({ address }) => html`${address ?? ''}` },
  { label: 'Signed in by', cell: ({ method }) => html`${methodNames[method ?? ''] ?? method ?? ''}` },
  { label: 'Signed in', cell: ({ created_at }) => timeAgo(created_at) },
  { label: 'Last seen', cell: ({ last_seen_at }) => timeAgo(last_seen_at) },
  {
    label: 'End',
    kind: 'acts',
    cell: ({ id, current }) =>
      when(!current, () =>
        postButton(`${SECURITY_PAGE}/sessions/${id}/end`, 'Sign out', { class: 'quiet small' }),
      ),
  },
];

function sessionPart({ sessions, browsers }: SecurityView): Html {
  return html`<section class="card">
    <h2>Where you are signed in</h2>
    !${table('Sessions', sessionColumns(browsers), sessions)}
    !${when(sessions.length > 1, () => postButton(`${SECURITY_PAGE}/sessions/end-others`, 'Sign out everywhere else', { class: '' }))}
  </section>`;
}
