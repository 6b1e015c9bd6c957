import type { SecondFactors } from '@acp/contract';
import { html } from './kit/html.ts';
import { t } from './kit/language.ts';
import { errorLine, page } from './page.ts';

/** The second step, offering the factors that the user has. */
export function secondStepPage({ totp, passkeys }: SecondFactors, error: string | null): string {
  const label = totp ? t`Code from your app, or a recovery code` : t`Recovery code`;
  const passkey =
    passkeys.length === 0
      ? ''
      : html`<button type="button" class="quiet" data-passkey="sign-in">Use a passkey</button>
          <p class="error" role="alert" data-passkey-error hidden></p>`;
  return page(
    'Second factor',
    html`<main class="narrow">
      <form class="card" method="post" action="/login/second-factor">
        <h1>Second factor</h1>
        !${errorLine(error)}
        <label
          >${label}
          <input
            name="code"
            inputmode="text"
            autocomplete="one-time-code"
            minlength="6"
            maxlength="40"
            required
            autofocus
          />
        </label>
        <button>Continue</button>
        !${passkey}
        <p class="soft"><a href="/login">Start over</a></p>
      </form>
    </main>`,
    ['passkeys.js'],
  );
}
