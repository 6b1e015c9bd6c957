/** Forgotten password: the request form, and the form that the mailed link opens. They work without script. */
import { html } from './kit/html.ts';
import { t } from './kit/language.ts';
import { RESET_REQUESTED } from '../api/identity/forgotten-password.ts';
import { errorLine, field, page } from './page.ts';

const card = (title: string, body: string): string =>
  page(
    title,
    html`<main class="narrow">
      <div class="card">
        <h1>${title}</h1>
        !${body}
        <p><a href="/login">Back to sign-in</a></p>
      </div>
    </main>`,
  );

export function requestResetPage(email: string, error: string | null): string {
  return card(
    t`Forgot your password?`,
    html`<p class="soft">You will get a mail with a link for choosing a new one.</p>
      <form method="post" action="/forgot-password">
        !${errorLine(error)}
        !${field({ name: 'email', label: 'E-mail', type: 'email', autocomplete: 'username', value: email })}
        <button>Send the link</button>
      </form>`,
  );
}

export function resetRequestedPage(): string {
  return card(
    t`Check your mail`,
    html`<p>${RESET_REQUESTED}</p>
      <p class="soft">Nothing there? Check the spam folder, or ask an administrator for a new password.</p>`,
  );
}

/** Shown if the instance sends no mail. */
export function noResetPage(): string {
  return card(
    t`Forgot your password?`,
    html`<p>This service sends no mail. An administrator sets a new password for you.</p>`,
  );
}

/** @param email of the account, for password managers and for users with several accounts */
export function newPasswordPage(
  { token, email }: { token: string; email: string },
  error: string | null,
): string {
  return card(
    t`Choose a new password`,
    html`<p class="soft">For ${email}. All its sessions end.</p>
      <form method="post" action="/reset-password">
        !${errorLine(error)} !${field({ name: 'token', label: '', type: 'hidden', value: token })}
        <input type="hidden" name="username" autocomplete="username" value="${email}" />
        !${field({ name: 'new_password', label: 'New password (8 characters or more)', type: 'password', autocomplete: 'new-password', minlength: 8 })}
        <button>Set the password</button>
      </form>`,
  );
}

export function linkSpentPage(): string {
  return card(
    t`This link is no longer valid`,
    html`<p>It works once, within half an hour, and only while the account is unchanged.</p>
      <p><a href="/forgot-password">Ask for a new one</a></p>`,
  );
}
