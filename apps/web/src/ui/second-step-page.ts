import type { SecondFactors } from '@acp/contract';
import { attributes, html } from './kit/html.ts';
import { t } from './kit/language.ts';
import { errorLine, page } from './page.ts';

/** The second step, offering the factors that the user has. */
export function secondStepPage({ totp, passkeys }: SecondFactors, error: string | null): string {
  const label = totp ? t`Code from your app, or a recovery code` : t`Recovery code`;
  const passkey =
    passkeys.length === 0
      ? ''
      : html`<div class="apart">
          <button
            type="button"
            !${attributes({ class: totp ? 'quiet' : null, autofocus: !totp })}
            data-passkey="sign-in"
          >
            Use a passkey
          </button>
          <p class="error" role="alert" data-passkey-error hidden></p>
        </div>`;
  // The recovery code of someone with a passkey only is for the day when it is lost.
  const [first, last] = totp ? ['', passkey] : [passkey, ''];
  return page(
    'Second factor',
    html`<main class="narrow">
      <form class="card" method="post" action="/login/second-factor">
        <h1>Second factor</h1>
        !${errorLine(error)}!${first}
        <label
          >${label}
          <input
            name="code"
            inputmode="text"
            autocomplete="one-time-code"
            minlength="6"
            maxlength="40"
            required
            !${attributes({ autofocus: passkey === '' || totp })}
          />
        </label>
        <button>Continue</button>
        !${last}
        <p class="soft">
          Lost all of them? An administrator of this instance can remove your second factor.
          <a href="/login">Start over</a>
        </p>
      </form>
    </main>`,
    ['passkeys.js'],
  );
}
