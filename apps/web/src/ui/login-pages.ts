/** Sign-in and first-run set-up: forms that work without script. */
import { html } from './kit/html.ts';
import { accountFields, errorLine, field, page } from './page.ts';

/** A sign-in provider as shown on the pages. */
export interface ProviderLink {
  name: string;
  label: string;
}

/** Links, not forms: the provider is reached by a redirect. @param parameter is passed along and returned */
export function providerLinks(
  providers: readonly ProviderLink[],
  { name: parameter, value }: { name: 'invite' | 'next'; value: string },
): string {
  return providers
    .map(
      ({ name, label }) =>
        html`<p>
          <a href="/auth/${name}?!${parameter}=!${encodeURIComponent(value)}">Continue with ${label}</a>
        </p>`,
    )
    .join('');
}

/** Ways to sign in other than by password. */
export interface SignInWays {
  providers: readonly ProviderLink[];
  /** Whether a forgotten password can be reset by mail. */
  password_reset: boolean;
}

interface LoginView {
  email: string;
  error: string | null;
  /** Where to go after the sign-in. */
  next: string;
  /** Whether a password was just set by mail. */
  password_set?: boolean;
  /** Nobody has an account yet. */
  is_new?: boolean;
}

export function loginPage({ email, error, next, password_set, is_new }: LoginView, ways: SignInWays): string {
  return page(
    'Sign in',
    html`<main class="narrow">
      <form class="card" method="post" action="/login">
        <h1>Sign in</h1>
        !${password_set ? html`<p class="notice good" role="status">The password has been set: sign in with it.</p>` : ''}
        !${is_new ? html`<p class="notice" role="status">Nobody has an account yet. The link that creates the first administrator is in the service’s log.</p>` : ''}
        !${errorLine(error)} !${field({ name: 'next', label: '', type: 'hidden', value: next })}
        !${field({ name: 'email', label: 'E-mail', type: 'email', autocomplete: 'username', value: email, autofocus: email === '' })}
        !${field({ name: 'password', label: 'Password', type: 'password', autocomplete: 'current-password', autofocus: email !== '' })}
        <button>Sign in</button>
        !${ways.password_reset ? html`<p><a href="/forgot-password">Forgot your password?</a></p>` : ''}
        <div>
          <button type="button" class="quiet" data-passkey="sign-in" data-next="${next}" hidden>
            Sign in with a passkey
          </button>
          <p class="error" role="alert" data-passkey-error hidden></p>
        </div>
        !${providerLinks(ways.providers, { name: 'next', value: next })}
      </form>
    </main>`,
    ['passkeys.js'],
  );
}

interface SetupValues {
  token: string;
  email: string;
  display_name: string;
}

export function setupPage(values: SetupValues, error: string | null): string {
  const { token } = values;
  return page(
    'Set up',
    html`<main class="narrow">
      <form class="card" method="post" action="/setup">
        <h1>Create the first administrator</h1>
        !${errorLine(error)} !${field({ name: 'token', label: '', type: 'hidden', value: token })}
        !${accountFields(values)}
        <button>Create and sign in</button>
      </form>
    </main>`,
  );
}

export function setupClosedPage(): string {
  return page(
    'Set up',
    html`<main class="narrow">
      <div class="card">
        <h1>This link is no longer valid</h1>
        <p>
          This instance has already been set up, or the link is older than a day: then restart the service,
          and take the new link from its log.
        </p>
        <p><a href="/login">Sign in</a></p>
      </div>
    </main>`,
  );
}
